//! Faults of servers.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use zklock_testkit::{Ensemble, Error, ZooKeeper};

use crate::schedule::{Fault, Target};

use super::field::{Field, Outcome};

/// Kills a server, and starts it again after some time.
pub(super) fn kill(field: &Field, fault: &Fault, target: Target, down: Duration) -> Outcome {
    let server = field.server(target)?;
    let number = field.chronicle.began(fault, &format!("at {}", server.address()));
    server.kill()?;
    field.end.wait(down);
    server.restart()?;
    field.chronicle.ended(number);
    Ok(())
}

/// Restarts one server after the other, as soon as the one before is ready.
pub(super) fn roll(field: &Field, fault: &Fault) -> Outcome {
    let number = field.chronicle.began(fault, "");
    for server in field.ensemble.servers() {
        if field.end.has_rung() {
            break;
        }
        server.restart()?;
        field.ensemble.leader()?;
    }
    field.chronicle.ended(number);
    Ok(())
}

/// Lets servers stand still for some time.
pub(super) fn silence(field: &Field, fault: &Fault, targets: &[Target], lasts: Duration) -> Outcome {
    let servers = targets.iter().map(|target| field.server(*target)).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    let number = field.chronicle.began(fault, &format!("at {}", addresses.join(" and ")));
    let paused = servers.iter().try_for_each(|server| server.pause());
    if paused.is_ok() {
        field.end.wait(lasts);
    }
    // All of them go on, even if one cannot.
    let resumed: Vec<_> = servers.iter().map(|server| server.resume()).collect();
    paused?;
    resumed.into_iter().collect::<Result<(), _>>()?;
    field.chronicle.ended(number);
    Ok(())
}

/// Makes a server and the others learn late from each other.
pub(super) fn delay(
    field: &Field,
    fault: &Fault,
    target: Target,
    (delay, lasts): (Duration, Duration),
) -> Outcome {
    let server = field.server(target)?;
    let number = field.chronicle.began(fault, &format!("at {}", server.address()));
    field.ensemble.delay(server, delay);
    field.end.wait(lasts);
    field.ensemble.join(server);
    field.chronicle.ended(number);
    Ok(())
}

/// Makes every write of a server to a file fail, as on a full disk. A server ends when it cannot write its log of
/// transactions, and is started again afterwards.
pub(super) fn fill_disk(field: &Field, fault: &Fault, target: Target, lasts: Duration) -> Outcome {
    let server = field.server(target)?;
    let number = field.chronicle.began(fault, &format!("at {}", server.address()));
    limit_files(server, Some(0))?;
    field.end.wait(lasts);
    server.restart()?;
    field.chronicle.ended(number);
    Ok(())
}

/// Sets the length to which the server may write its files.
fn limit_files(server: &ZooKeeper, length: Option<u64>) -> Outcome {
    let pid = server.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let limit = Rlimit { current: length, maximum: None };
    prlimit(Some(pid.ok_or("the server does not run")?), Resource::Fsize, limit)?;
    Ok(())
}

/// Lets a server stand still for a moment, again and again, as it does when its disk is slow.
pub(super) fn pulse(
    field: &Field,
    fault: &Fault,
    target: Target,
    (stopped, lasts): (Duration, Duration),
) -> Outcome {
    let server = field.server(target)?;
    let number = field.chronicle.began(fault, &format!("at {}", server.address()));
    let end = Instant::now() + lasts;
    while Instant::now() < end && !field.end.has_rung() {
        server.pause()?;
        field.end.wait(stopped);
        server.resume()?;
        field.end.wait(stopped / 2);
    }
    field.chronicle.ended(number);
    Ok(())
}

/// Starts every server that does not serve, and waits until they have a leader.
pub(crate) fn mend(ensemble: &Ensemble) -> Result<(), Error> {
    for server in ensemble.servers() {
        // A server that was killed cannot be resumed, and is started.
        let serves = server.resume().is_ok()
            && server.four_letter("srvr").is_ok_and(|answer| answer.contains("Mode: "));
        if !serves {
            server.restart()?;
        }
    }
    ensemble.leader().map(drop)
}

impl Field {
    fn server(&self, target: Target) -> Result<&ZooKeeper, Error> {
        match target {
            Target::Server(server) => Ok(self.ensemble.server(server)),
            Target::Leader => self.ensemble.leader(),
        }
    }
}
