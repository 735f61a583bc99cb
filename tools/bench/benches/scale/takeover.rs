//! The time from the death of a process that holds a lock to the next holder.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use zklock::Config;
use zklock_testkit::ZooKeeper;

use crate::clients::{ms, patient, until};
use crate::program::Failure;

/// Measures the time from the death of a process that holds a lock to the next holder.
///
/// In each round, another process takes the lock, this process waits for it, and the other one is killed (SIGKILL).
/// `median_ms`, `best_ms` and `worst_ms` are the times until this process holds the lock. The server ends the session
/// of a dead process when it has not heard of it for the session timeout, and looks at sessions once per tick. A
/// process is killed some time after it was heard of, so the time may also be shorter than the session timeout.
#[derive(Args)]
pub(crate) struct Options {
    /// The number of rounds.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    times: Times,
}

#[derive(Args)]
struct Times {
    /// The session timeout of the killed process; the server grants at least two ticks.
    #[arg(long, value_name = "DURATION", default_value = "4s")]
    session_timeout: humantime::Duration,

    /// The server's `tickTime`.
    #[arg(long, value_name = "DURATION", default_value = "500ms")]
    tick: humantime::Duration,
}

/// The options of the process that is killed.
#[derive(Args)]
pub(crate) struct Holding {
    server: String,

    #[command(flatten)]
    times: Times,
}

pub(crate) async fn measure(options: Options) -> Result<String, Failure> {
    let Options { rounds, times } = options;
    let server = ZooKeeper::builder().tick_time(times.tick.into()).start()?;
    let client = times.config(server.connect_string()).connect().await?;
    let mutex = client.mutex(LOCK)?;
    let mut took = Vec::new();
    for round in 0..rounds {
        let mut holder = Holder::start(&times, server.connect_string())?;
        let waiting = tokio::spawn({
            let mutex = mutex.clone();
            async move { mutex.lock().await.map(|guard| (guard, Instant::now())) }
        });
        let both_take_part = async || Ok(mutex.participants().await?.len() >= 2);
        until(both_take_part, "this process does not wait").await?;
        // The deaths are spread over the time between two signs of life.
        tokio::time::sleep(SPREAD * round / rounds).await;
        let killed = Instant::now();
        holder.kill()?;
        let (guard, acquired) = waiting.await??;
        took.push(acquired - killed);
        guard.release().await?;
    }
    client.shutdown(SPREAD).await;
    took.sort_unstable();
    Ok(format!(
        "takeover rounds={rounds} session_timeout_ms={session:.0} tick_ms={tick:.0} best_ms={best:.0} \
         median_ms={median:.0} worst_ms={worst:.0}",
        session = ms(times.session_timeout.into()),
        tick = ms(times.tick.into()),
        best = ms(took[0]),
        median = ms(took[took.len() / 2]),
        worst = ms(took[took.len() - 1]),
    ))
}

/// Takes the lock, and holds it until the standard input ends.
pub(crate) async fn hold(holding: Holding) -> Result<String, Failure> {
    let client = holding.times.config(&holding.server).connect().await?;
    let guard = client.mutex(LOCK)?.lock().await?;
    println!("{HELD}");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    guard.release().await?;
    Ok("released".to_owned())
}

impl Times {
    fn config(&self, server: &str) -> Config {
        let tick = Duration::from(self.tick);
        // A single server has no leader to lose.
        let config = patient(server).session_timeout(self.session_timeout.into());
        config.tick_time(tick).sync_limit(tick)
    }
}

/// A process that holds the lock. It ends with this one, whose end its standard input tells.
struct Holder {
    child: Child,
}

impl Holder {
    fn start(times: &Times, server: &str) -> Result<Self, Failure> {
        let child = Command::new(std::env::current_exe()?)
            .args(["hold", server])
            .args(["--session-timeout", &times.session_timeout.to_string()])
            .args(["--tick", &times.tick.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut holder = Self { child };
        let mut line = String::new();
        if let Some(output) = holder.child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        if line.trim() != HELD {
            return Err(format!("the other process printed {line:?} instead of {HELD:?}").into());
        }
        Ok(holder)
    }

    fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.kill();
    }
}

const LOCK: &str = "/lock";

/// The line of the process that holds the lock.
const HELD: &str = "held";

/// Longer than the time between two signs of life of a session.
const SPREAD: Duration = Duration::from_secs(1);
