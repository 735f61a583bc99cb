//! Faults of servers.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use zklock_testkit::{Ensemble, Error, ZooKeeper};

use crate::schedule::{Fault, Target};

use super::{Field, Outcome};

impl Field {
    fn server(&self, target: Target) -> Result<&ZooKeeper, Error> {
        match target {
            Target::Server(server) => Ok(self.ensemble.server(server)),
            Target::Leader => self.ensemble.leader(),
        }
    }

    /// Causes a fault of one server.
    fn at(&self, target: Target, fault: &Fault, cause: impl FnOnce(&ZooKeeper) -> Outcome) -> Outcome {
        let server = self.server(target)?;
        self.noted(fault, &format!("at {}", server.address()), || cause(server))
    }
}

/// Kills a server, and starts it again after some time.
pub(super) fn kill(field: &Field, fault: &Fault, target: Target) -> Outcome {
    field.at(target, fault, |server| {
        server.kill()?;
        field.end.wait(fault.lasts);
        Ok(server.restart()?)
    })
}

/// Restarts one server after the other, as soon as all of them serve.
pub(super) fn roll(field: &Field, fault: &Fault) -> Outcome {
    field.noted(fault, "", || {
        for server in field.ensemble.servers() {
            if field.end.has_rung() {
                break;
            }
            server.restart()?;
            wait_for_all(field)?;
        }
        Ok(())
    })
}

/// Waits until all servers serve again after the election that a restart may cause.
fn wait_for_all(field: &Field) -> Outcome {
    let deadline = Instant::now() + ELECTION;
    while !field.ensemble.servers().iter().all(serves) && !field.end.has_rung() {
        if Instant::now() > deadline {
            return Err("a server does not serve after a restart".into());
        }
        field.end.wait(PAUSE);
    }
    Ok(())
}

fn serves(server: &ZooKeeper) -> bool {
    server.four_letter("srvr").is_ok_and(|answer| answer.contains("Mode: "))
}

/// Lets servers stand still for some time.
pub(super) fn silence(field: &Field, fault: &Fault, targets: &[Target]) -> Outcome {
    let servers = targets.iter().map(|target| field.server(*target)).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    field.noted(fault, &format!("at {}", addresses.join(" and ")), || {
        let paused = servers.iter().try_for_each(|server| server.pause());
        if paused.is_ok() {
            field.end.wait(fault.lasts);
        }
        // All of them go on, even if one cannot.
        let resumed: Vec<_> = servers.iter().map(|server| server.resume()).collect();
        paused?;
        Ok(resumed.into_iter().collect::<Result<(), _>>()?)
    })
}

/// Makes a server and the others learn late from each other.
pub(super) fn delay(field: &Field, fault: &Fault, target: Target, delay: Duration) -> Outcome {
    field.at(target, fault, |server| {
        field.ensemble.delay(server, delay);
        field.end.wait(fault.lasts);
        field.ensemble.join(server);
        Ok(())
    })
}

/// Makes every write of a server to a file fail, as on a full disk. A server ends when it cannot write its log of
/// transactions, and is started again afterwards.
pub(super) fn fill_disk(field: &Field, fault: &Fault, target: Target) -> Outcome {
    field.at(target, fault, |server| {
        let pid = server.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let limit = Rlimit { current: Some(0), maximum: None };
        prlimit(Some(pid.ok_or("the server does not run")?), Resource::Fsize, limit)?;
        field.end.wait(fault.lasts);
        Ok(server.restart()?)
    })
}

/// Lets a server stand still for a moment, again and again, as it does when its disk is slow.
pub(super) fn pulse(field: &Field, fault: &Fault, target: Target, stopped: Duration) -> Outcome {
    field.at(target, fault, |server| {
        let end = Instant::now() + fault.lasts;
        while Instant::now() < end && !field.end.has_rung() {
            server.pause()?;
            field.end.wait(stopped);
            server.resume()?;
            field.end.wait(stopped / 2);
        }
        Ok(())
    })
}

/// Starts every server that does not serve, and waits until they have a leader.
pub(crate) fn mend(ensemble: &Ensemble) -> Result<(), Error> {
    for server in ensemble.servers() {
        // A server that was killed cannot be resumed, and is started.
        if server.resume().is_err() || !serves(server) {
            server.restart()?;
        }
    }
    ensemble.leader().map(drop)
}

/// The time within which all servers serve after a restart.
const ELECTION: Duration = Duration::from_secs(30);
/// The pause between two looks at the servers.
const PAUSE: Duration = Duration::from_millis(50);
