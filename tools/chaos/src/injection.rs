//! Injects the faults, each on a thread of its own.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::runtime::Handle;
use zklock_testkit::{Conversation, Ensemble, Error, ZooKeeper};

use crate::fleet::{Fleet, Links, TRUE};
use crate::history::Event;
use crate::journal::Chronicle;
use crate::orders::NAMESPACE;
use crate::outsider::{Outsider, children, delete, stat};
use crate::schedule::{Blow, Fault, Impairment, Strike, Target};

/// The targets of faults.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) ensemble: Arc<Ensemble>,
    pub(crate) fleet: Arc<Mutex<Fleet>>,
    pub(crate) outsider: Outsider,
    pub(crate) chronicle: Chronicle,
    /// The locks, each with a node whose children are its contenders.
    pub(crate) queues: Vec<(&'static str, &'static str)>,
    pub(crate) runtime: Handle,
    pub(crate) end: Bell,
}

/// A bell that rings once, at the end of a run, which all of its threads wait for. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    pub(crate) fn ring(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(crate) fn has_rung(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this time, or until the bell rings.
    pub(crate) fn wait(&self, time: Duration) {
        let rung = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(rung, time, |rung| !*rung);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

impl Field {
    /// Injects a fault on a thread of its own, which ends with the fault.
    pub(crate) fn inject(&self, fault: Fault) -> io::Result<JoinHandle<()>> {
        let field = self.clone();
        let strike = move || match field.strike(&fault) {
            Ok(()) => {}
            // Servers that are restarted may answer nothing until the end.
            Err(error) if field.end.has_rung() => field.chronicle.say(&format!("{fault:?}: {error}")),
            Err(error) => field.chronicle.failed(&fault, error.as_ref()),
        };
        thread::Builder::new().name("fault".to_owned()).spawn(strike)
    }

    fn strike(&self, fault: &Fault) -> Outcome {
        match &fault.strike {
            Strike::Process(process, blow) => strike_process(self, fault, *process, blow),
            Strike::Impair(processes, impairment) => impair(self, fault, processes.clone(), impairment),
            Strike::KillServer(server) => kill(self, fault, *server),
            Strike::RollingRestart => roll(self, fault),
            Strike::SilentServers(servers) => silence(self, fault, servers),
            Strike::LaggingServer(server, delay) => lag(self, fault, *server, *delay),
            Strike::FullDisk(server) => fill_disk(self, fault, *server),
            Strike::SlowDisk(server, stopped) => pulse(self, fault, *server, *stopped),
            Strike::EndSession(process) => end_session(self, fault, *process),
            Strike::DeleteNode(pick) => delete_node(self, fault, *pick),
            Strike::ReapContainers => reap(self, fault),
        }
    }

    pub(crate) fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the beginning of a fault, causes it by its number, and notes its end.
    fn noted(&self, fault: &Fault, found: &str, cause: impl FnOnce(u64) -> Outcome) -> Outcome {
        let number = self.chronicle.began(fault, found);
        let outcome = cause(number);
        // A failure has an end, too: a stop of servers without one would excuse all calls behind it.
        self.chronicle.ended(number);
        outcome
    }

    fn server(&self, target: Target) -> Result<&ZooKeeper, Error> {
        match target {
            Target::Server(server) => Ok(self.ensemble.server(server)),
            Target::Leader => self.ensemble.leader(),
        }
    }

    /// Causes a fault of one server.
    fn at(&self, target: Target, fault: &Fault, cause: impl FnOnce(&ZooKeeper) -> Outcome) -> Outcome {
        let server = self.server(target)?;
        self.noted(fault, &format!("at {}", server.address()), |_| cause(server))
    }
}

/// Kills, stops or cuts off a process. The thread of the campaign starts it again.
fn strike_process(field: &Field, fault: &Fault, process: usize, blow: &Blow) -> Outcome {
    let found = format!("at {}", field.fleet().process(process));
    field.noted(fault, &found, |number| {
        match *blow {
            Blow::Kill => {
                field.fleet().take_down(process)?;
                field.end.wait(fault.lasts);
                field.fleet().let_up(process, TRUE);
            }
            Blow::Stop => {
                field.fleet().stop(process, number)?;
                field.end.wait(fault.lasts);
                field.fleet().restore(process, number)?;
            }
            Blow::Skew(rate) => {
                field.fleet().take_down(process)?;
                field.fleet().let_up(process, rate);
            }
            Blow::Cut(how) => field.fleet().links(process).cut(how),
        }
        Ok(())
    })
}

/// Impairs the links of some processes.
fn impair(field: &Field, fault: &Fault, processes: Range<usize>, impairment: &Impairment) -> Outcome {
    field.noted(fault, "", |number| {
        let each = |change: &dyn Fn(&mut Links)| {
            let mut fleet = field.fleet();
            processes.clone().for_each(|process| change(fleet.links(process)));
        };
        each(&|links| links.impair(number, impairment.clone()));
        field.end.wait(fault.lasts);
        each(&|links| links.restore(number));
        Ok(())
    })
}

/// Kills a server, and starts it again after some time.
fn kill(field: &Field, fault: &Fault, target: Target) -> Outcome {
    field.at(target, fault, |server| {
        server.kill()?;
        field.end.wait(fault.lasts);
        Ok(server.restart()?)
    })
}

/// Restarts one server after the other, as soon as all of them serve.
fn roll(field: &Field, fault: &Fault) -> Outcome {
    field.noted(fault, "", |_| {
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
fn silence(field: &Field, fault: &Fault, targets: &[Target]) -> Outcome {
    let servers = targets.iter().map(|target| field.server(*target)).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    field.noted(fault, &format!("at {}", addresses.join(" and ")), |_| {
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
fn lag(field: &Field, fault: &Fault, target: Target, delay: Duration) -> Outcome {
    field.at(target, fault, |server| {
        field.ensemble.delay(server, delay);
        field.end.wait(fault.lasts);
        field.ensemble.join(server);
        Ok(())
    })
}

/// Makes every write of a server to a file fail, as on a full disk. A server ends when it cannot write its log of
/// transactions, and is started again afterwards.
fn fill_disk(field: &Field, fault: &Fault, target: Target) -> Outcome {
    field.at(target, fault, |server| {
        let pid = server.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let limit = Rlimit { current: Some(0), maximum: None };
        prlimit(Some(pid.ok_or("the server does not run")?), Resource::Fsize, limit)?;
        field.end.wait(fault.lasts);
        Ok(server.restart()?)
    })
}

/// Lets a server stand still for a moment, again and again, as it does when its disk is slow.
fn pulse(field: &Field, fault: &Fault, target: Target, stopped: Duration) -> Outcome {
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

/// Ends the sessions of a process at the servers.
fn end_session(field: &Field, fault: &Fault, process: usize) -> Outcome {
    let sessions = field.fleet().links(process).sessions();
    let process = field.fleet().process(process);
    field.noted(fault, &format!("of {process}, {sessions:x?}"), |_| {
        for session in sessions {
            field.chronicle.note(Event::SessionEnded { process });
            if !field.runtime.block_on(field.outsider.end_session(session, || !field.end.has_rung())) {
                field.chronicle.say(&format!("the session {session:x} goes on"));
            }
            // Slow servers end the session late, and holds that are granted until then end with it.
            field.chronicle.note(Event::SessionEnded { process });
        }
        Ok(())
    })
}

/// Deletes the node of one contender: the first one of its queue in half of the cases.
fn delete_node(field: &Field, fault: &Fault, pick: u64) -> Outcome {
    let queues = &field.queues;
    let first = usize::try_from(pick >> 16).unwrap_or_default();
    for nth in 0..queues.len() {
        let (lock, queue) = queues[(first + nth) % queues.len()];
        let queue = format!("{NAMESPACE}{queue}");
        let children = ask(field, async |at| children(at, &queue).await)?;
        let place =
            if pick.is_multiple_of(2) { 0 } else { usize::try_from(pick >> 1 & 0x7f).unwrap_or_default() };
        let Some(path) = children.get(place % children.len().max(1)) else { continue };
        let Some(stat) = ask(field, async |at| stat(at, path).await)? else { continue };
        let broken = Event::LockBroken { lock: lock.to_owned(), zxid: stat.czxid.cast_unsigned() };
        field.chronicle.note(broken.clone());
        let deleted = field.runtime.block_on(field.outsider.ask(async |at| delete(at, path).await));
        // Slow servers delete the node late, and holds that are granted until then end with it.
        field.chronicle.note(broken);
        let was_there = deleted?;
        return field.noted(fault, &format!("{path}, deleted: {was_there}"), |_| Ok(()));
    }
    Err("no lock has a contender".into())
}

/// Asks until a server answers: other faults can make all of them refuse at the same time. Gives up at the end of the run, or
/// when the servers have had the time for several elections.
fn ask<T>(field: &Field, question: impl AsyncFn(&mut Conversation) -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match field.runtime.block_on(field.outsider.ask(&question)) {
            Err(_) if Instant::now() < deadline && !field.end.has_rung() => field.end.wait(QUESTIONS),
            answer => return answer,
        }
    }
}

/// Deletes the queues without contenders, as the servers do with containers, but far more often.
fn reap(field: &Field, fault: &Fault) -> Outcome {
    field.noted(fault, "", |_| {
        let paths: Vec<_> = field.queues.iter().map(|(_, queue)| format!("{NAMESPACE}{queue}")).collect();
        let deletions = field.runtime.block_on(field.outsider.reap(&paths, fault.lasts));
        field.chronicle.say(&format!("{deletions} empty queues were deleted"));
        Ok(())
    })
}

/// The time within which a server answers again.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two questions.
const QUESTIONS: Duration = Duration::from_millis(100);
