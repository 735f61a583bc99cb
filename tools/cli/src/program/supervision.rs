//! Runs a program until it ends by itself or its lock ends.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use tokio::signal::unix;
use tokio::time::{Instant, sleep, timeout_at};
use zklock::{Held, LossReason};

use super::child::{Child, News, Status, reap};
use super::launch::Bond;
use super::lease::{self, Deadlines, Lease, SHORTEST_INTERVAL};
use super::signals::{Signals, asks_to_end, is_for_program};
use super::start::{Course, Launched};
use super::terminal::{Stage, may_suspend};
use super::watchdog::{Notice, Watchdog};
use crate::arguments::{OnLost, Running};
use crate::exit::Failure;
use crate::output::Output;

/// The end of a program.
pub(crate) struct Ended {
    /// The status of the program, or of the signal that came before it began.
    pub(crate) status: Status,
    /// The reason for the loss of the lock, if it was lost before.
    pub(crate) lost: Option<LossReason>,
    /// Whether this process got a signal to end.
    pub(crate) is_asked: bool,
    /// Whether the program began.
    pub(crate) has_begun: bool,
}

/// Runs a program under a lock, and returns when it has ended.
pub(crate) async fn supervise(
    running: &Running,
    on_lost: OnLost,
    held: &Held,
    signals: &mut Signals,
    output: &Output,
) -> Result<Ended, Failure> {
    let starting = Failure::system("start the program");
    let bond = if on_lost == OnLost::Continue { Bond::Free } else { Bond::Bound };
    let grace = if on_lost == OnLost::Kill { Duration::ZERO } else { running.grace };
    let mut lease = Lease::new(held, grace).map_err(&starting)?;
    let launched = Launched::new(&running.program, bond, held).map_err(&starting)?;
    match launched.begin(held, &mut lease, signals).await.map_err(&starting)? {
        Course::Begun(Launched { watchdog, child, changes, stage }) => {
            let (deadlines, fate) = (lease.deadlines(), Fate::Guarded);
            let mut supervision = Supervision {
                watchdog,
                child,
                changes,
                stage,
                on_lost,
                held,
                lease,
                output,
                deadlines,
                fate,
                is_asked: false,
            };
            supervision.keep(signals).await.map_err(Failure::system("watch the program"))?;
            supervision.end(signals).await.map_err(Failure::system("learn how the program ended"))
        }
        Course::Asked(signal) => {
            Ok(Ended { status: signal.into(), lost: None, is_asked: true, has_begun: false })
        }
        Course::Lost(reason) => {
            tell_loss(held, reason, output);
            let status = Signal::SIGKILL.into();
            Ok(Ended { status, lost: Some(reason), is_asked: false, has_begun: false })
        }
    }
}

fn tell_loss(held: &Held, reason: LossReason, output: &Output) {
    let path = held.path();
    let event = json!({"event": "lost", "path": path, "reason": reason.to_string()});
    output.tell(format_args!("lock {path} is lost: {reason}"), &event);
}

/// A program that runs. Dropping it kills the program.
struct Supervision<'a> {
    /// Dropped before the child, whose group it may signal.
    watchdog: Option<Watchdog>,
    child: Child,
    changes: unix::Signal,
    stage: Stage,
    on_lost: OnLost,
    held: &'a Held,
    lease: Lease<'a>,
    output: &'a Output,
    /// The last deadlines for the watchdog.
    deadlines: Deadlines,
    fate: Fate,
    /// Whether a signal to end was passed on.
    is_asked: bool,
}

/// The time in which a signal arrives that was sent together with another one.
const MOMENT: Duration = Duration::from_millis(10);

/// The further course of a program.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It runs under its lock.
    Guarded,
    /// It was asked to end, and is killed at its deadline.
    Ends(LossReason, Deadlines),
    /// It runs without its lock.
    Unguarded(LossReason),
}

impl Supervision<'_> {
    /// Waits for the end of the program, and brings it about when the lock ends.
    async fn keep(&mut self, signals: &mut Signals) -> io::Result<()> {
        loop {
            match self.child.news()? {
                News::Ended => {
                    self.ended(lease::now()?);
                    return Ok(());
                }
                News::Stopped(by) => {
                    if !self.is_resumed(signals).await {
                        self.stage.stopped(&self.child, by);
                    }
                }
                News::None => {}
            }
            self.reap_orphans();
            let pause = self.look_at_the_clock()?;
            let (held, is_guarded) = (self.held, matches!(self.fate, Fate::Guarded));
            tokio::select! {
                biased;
                // They come before the stop of a program that wants the terminal, which stops this process, too.
                signal = signals.next() => self.pass_on(signal),
                _ = self.changes.recv() => {}
                notice = notice(&mut self.watchdog) => self.notice(notice, lease::now()?),
                reason = held.lost(), if is_guarded => self.lose(reason, lease::now()?),
                () = sleep(pause) => {}
            }
        }
    }

    /// Passes on the signals that came together with the stop of the program, because this process may stop, too, and would
    /// keep them. Returns whether one of them lets the program go on.
    async fn is_resumed(&mut self, signals: &mut Signals) -> bool {
        let (mut is_resumed, end) = (false, Instant::now() + MOMENT);
        while let Ok(signal) = timeout_at(end, signals.next()).await {
            self.pass_on(signal);
            is_resumed |= signal == Signal::SIGCONT || asks_to_end(signal);
        }
        is_resumed
    }

    fn reap_orphans(&self) {
        let helpers = self.watchdog.iter().map(Watchdog::pid).chain(self.stage.listener());
        reap(&helpers.chain([self.child.group()]).collect::<Vec<_>>());
    }

    /// Extends the deadlines of the watchdog, or does its work. Returns the time until the next look.
    fn look_at_the_clock(&mut self) -> io::Result<Duration> {
        let now = lease::now()?;
        match self.fate {
            Fate::Guarded => {
                self.deadlines = self.lease.look(now);
                if self.on_lost == OnLost::Continue {
                    return Ok(self.lease.interval());
                }
                let Deadlines { term, kill } = self.deadlines;
                // The watchdog comes first, so that the program usually gets one SIGTERM.
                let patience = kill.min(term + SHORTEST_INTERVAL);
                if now >= patience {
                    self.lose(LossReason::LeaseExpired, now);
                    return Ok(SHORTEST_INTERVAL);
                }
                self.watchdog.iter().for_each(|watchdog| watchdog.extend(self.deadlines));
                Ok(self.lease.interval().min(patience - now))
            }
            Fate::Ends(_, deadlines) if now >= deadlines.kill => {
                self.child.signal_group(Signal::SIGKILL);
                Ok(self.lease.interval())
            }
            Fate::Ends(_, deadlines) => Ok(self.lease.interval().min(deadlines.kill - now)),
            Fate::Unguarded(_) => Ok(self.lease.interval()),
        }
    }

    /// Reacts to the loss of the lock, or to its coming end. The deadline that is set now is not extended any more.
    fn lose(&mut self, reason: LossReason, now: Duration) {
        let deadlines = self.lease.ending(now);
        let is_signalled = self.watchdog.as_mut().is_some_and(Watchdog::has_acted);
        self.watchdog.iter().for_each(|watchdog| watchdog.kill_at(deadlines.kill));
        self.fate = match self.on_lost {
            OnLost::Continue => Fate::Unguarded(reason),
            OnLost::Term => {
                if !is_signalled {
                    self.child.ask_to_end();
                }
                Fate::Ends(reason, deadlines)
            }
            OnLost::Kill => {
                self.child.signal_group(Signal::SIGKILL);
                Fate::Ends(reason, deadlines)
            }
        };
        tell_loss(self.held, reason, self.output);
    }

    /// Reacts to the watchdog, which either acts because the time is over, or is gone.
    fn notice(&mut self, notice: Notice, now: Duration) {
        if notice == Notice::Gone {
            self.child.signal_group(Signal::SIGKILL);
        }
        let is_expired = self.is_expired(now);
        match self.fate {
            Fate::Guarded if is_expired => self.lose(LossReason::LeaseExpired, now),
            Fate::Guarded => {
                let event = json!({"event": "unwatched", "path": self.held.path()});
                self.output.tell("the program is killed because its watchdog is gone", &event);
            }
            Fate::Ends(..) | Fate::Unguarded(_) => {}
        }
        if notice == Notice::Gone {
            self.watchdog = None;
        }
    }

    /// Finds out whether a program has ended because the time was over, which the watchdog may have noticed alone.
    fn ended(&mut self, now: Duration) {
        if matches!(self.fate, Fate::Guarded) && self.is_expired(now) {
            self.lose(LossReason::LeaseExpired, now);
        }
    }

    /// Tells whether the time was over for the watchdog, or is over now.
    fn is_expired(&mut self, now: Duration) -> bool {
        let is_signalled = self.watchdog.as_mut().is_some_and(Watchdog::has_acted);
        self.on_lost != OnLost::Continue && (is_signalled || now >= self.deadlines.term)
    }

    fn pass_on(&mut self, signal: Signal) {
        if signal == Signal::SIGTSTP && !may_suspend() {
            return;
        }
        if signal == Signal::SIGCONT {
            self.stage.resume(&self.child);
        }
        self.is_asked |= asks_to_end(signal);
        if is_for_program(signal) {
            self.child.signal(signal);
        } else {
            self.child.signal_group(signal);
        }
        // A stopped program cannot end by itself.
        if asks_to_end(signal) {
            self.child.signal_group(Signal::SIGCONT);
        }
    }

    /// Cleans up after a program that has ended. After a loss, its children end as well.
    async fn end(mut self, signals: &mut Signals) -> io::Result<Ended> {
        let lost = self.fate.lost();
        if lost.is_some() && self.on_lost != OnLost::Continue {
            self.child.signal_group(Signal::SIGKILL);
        }
        // The watchdog must not signal the group when its number is free again.
        drop(self.watchdog);
        self.stage.take_back(&self.child);
        let status = self.child.reap()?;
        let key = self.stage.heard(&mut self.changes, status).await;
        let is_asked = key.is_some_and(|key| signals.hear(key)) || self.is_asked;
        Ok(Ended { status, lost, is_asked, has_begun: true })
    }
}

impl Fate {
    fn lost(self) -> Option<LossReason> {
        match self {
            Self::Guarded => None,
            Self::Ends(reason, _) | Self::Unguarded(reason) => Some(reason),
        }
    }
}

/// Waits for news of the watchdog, for ever if there is none.
async fn notice(watchdog: &mut Option<Watchdog>) -> Notice {
    match watchdog {
        Some(watchdog) => watchdog.notice().await,
        None => std::future::pending().await,
    }
}
