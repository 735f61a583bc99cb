//! Starts a server and the service, visits the service, and ends it by SIGTERM.

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use ureq::Agent;
use zklock_testkit::EmbeddedServer;

type Failure = Box<dyn Error + Send + Sync>;

/// The process of the service, which is killed when this is dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

pub(crate) fn visit() -> Result<(), Failure> {
    let server = EmbeddedServer::start()?;
    let mut command = Command::new(env::current_exe()?);
    command.arg("127.0.0.1:0").env("ZKLOCK_CONNECT", server.connect_string()).stdout(Stdio::piped());
    let mut service = Service(command.spawn()?);
    let output = service.0.stdout.take().ok_or("the output is piped")?;
    let mut lines = BufReader::new(output).lines();
    let address = until(&mut lines, "listens at ")?;

    let config = Agent::config_builder().http_status_as_error(false).proxy(None);
    let agent = config.timeout_global(Some(PATIENCE)).build().new_agent();
    let get = |path: &str| -> Result<String, Failure> {
        Ok(agent.get(format!("{address}{path}")).call()?.body_mut().read_to_string()?)
    };
    repeat("the service is ready", || Ok(get("/readyz")? == "ready\n"))?;
    let mut answer = agent.post(format!("{address}/orders/7/settle")).send_empty()?;
    let text = answer.body_mut().read_to_string()?;
    print!("{} {text}", answer.status());
    if text != "order 7 is settled\n" {
        return Err("the order is not settled".into());
    }
    until(&mut lines, "sweeps")?;
    repeat("the service counts its locks", || Ok(get("/metrics")?.contains("zklock_acquisitions_total{")))?;

    kill_process(Pid::from_child(&service.0), Signal::TERM)?;
    until(&mut lines, "ends")?;
    let status = service.0.wait()?;
    if !status.success() {
        return Err(format!("the service ended with {status}").into());
    }
    println!("the service answered and ended");
    Ok(())
}

/// Looks repeatedly until it is so.
fn repeat(what: &str, is_so: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > deadline {
            return Err(format!("timed out waiting until {what}").into());
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Prints the lines of the service until one begins with `start`, and returns the rest of that line.
fn until(lines: &mut impl Iterator<Item = std::io::Result<String>>, start: &str) -> Result<String, Failure> {
    for line in lines {
        let line = line?;
        println!("service: {line}");
        if let Some(rest) = line.strip_prefix(start) {
            return Ok(rest.to_owned());
        }
    }
    Err(format!("the service ended before it said {start:?}").into())
}

/// The longest time of each step, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
