//! Plays a schedule: begins and ends each fault at its time.

use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::fleet::{Clock, Effect, Exit, Fleet, Impairment};
use crate::injection::{Field, Victim};
use crate::schedule::{Fault, Plan};

use super::Outcome;

/// The player, whose thread starts all processes.
pub(super) struct Player<'a> {
    field: &'a Field,
    fleet: &'a mut Fleet,
    due: Vec<(Instant, Act)>,
    threads: Vec<JoinHandle<()>>,
}

/// The beginning of a fault, or its end.
enum Act {
    Begin(Fault),
    End(u64, Remedy),
}

/// The act that ends a fault of a process.
enum Remedy {
    Run { process: usize },
    GoOn { process: usize },
    Restore { process: usize },
    RestoreAll,
}

impl<'a> Player<'a> {
    pub(super) fn new(field: &'a Field, fleet: &'a mut Fleet) -> Self {
        Self { field, fleet, due: Vec::new(), threads: Vec::new() }
    }

    /// Plays until the end of the plan, or until the bell rings. Returns the processes that ended by themselves, and how
    /// long it played.
    pub(super) fn play(mut self, plan: &Plan) -> Outcome<(Vec<Exit>, Duration)> {
        let (begin, mut ended) = (Instant::now(), Vec::new());
        let planned = plan.schedule().into_iter();
        self.due = planned.map(|planned| (begin + planned.at, Act::Begin(planned.fault))).collect();
        while begin.elapsed() < plan.length && !self.field.end.has_rung() {
            for exit in self.fleet.ended()? {
                self.field.chronicle.say(&format!("{} has ended: {}", exit.process, exit.how));
                ended.push(exit);
            }
            while let Some(act) = self.next() {
                self.perform(act)?;
            }
            self.field.end.wait(STEP);
        }
        let played = begin.elapsed();
        self.field.end.ring();
        for thread in self.threads.drain(..) {
            // A panic was printed when it happened.
            thread.join().map_err(|_| "the thread of a fault panicked")?;
        }
        Ok((ended, played))
    }

    /// Returns an act whose time has come.
    fn next(&mut self) -> Option<Act> {
        let now = Instant::now();
        let (nth, _) =
            self.due.iter().enumerate().filter(|(_, (at, _))| *at <= now).min_by_key(|(_, (at, _))| *at)?;
        Some(self.due.remove(nth).1)
    }

    fn perform(&mut self, act: Act) -> Outcome {
        match act {
            Act::Begin(fault) => self.begin(fault),
            Act::End(number, remedy) => {
                self.remedy(number, remedy)?;
                self.field.chronicle.ended(number);
                Ok(())
            }
        }
    }

    fn begin(&mut self, fault: Fault) -> Outcome {
        let (lasts, links) =
            (fault.lasts(), |fleet: &'_ mut Fleet, process| fleet.links_mut(process).sessions());
        match fault.clone() {
            Fault::KillClient { process, .. } => {
                let number = self.began(&fault, process);
                match self.fleet.kill(process)? {
                    Effect::Struck => self.end_in(lasts, number, Remedy::Run { process }),
                    Effect::None => self.field.chronicle.ended(number),
                }
            }
            Fault::StopClient { process, .. } => {
                let number = self.began(&fault, process);
                match self.fleet.stop(process)? {
                    Effect::Struck => self.end_in(lasts, number, Remedy::GoOn { process }),
                    // The fault that has stopped it, or has ended it, goes on.
                    Effect::None => self.field.chronicle.ended(number),
                }
            }
            Fault::Cut { process, side } => {
                let number = self.began(&fault, process);
                self.fleet.links_mut(process).cut(side);
                self.field.chronicle.ended(number);
            }
            Fault::Silence { process, servers, side, .. } => {
                let number = self.began(&fault, process);
                self.fleet.links_mut(process).impair(number, Impairment::Silence(servers, side));
                self.end_in(lasts, number, Remedy::Restore { process });
            }
            Fault::SlowLink { process, delay, .. } => {
                let number = self.began(&fault, process);
                self.fleet.links_mut(process).impair(number, Impairment::Delay(delay));
                self.end_in(lasts, number, Remedy::Restore { process });
            }
            Fault::LostReply { process, request, .. } => {
                let number = self.began(&fault, process);
                self.fleet.links_mut(process).impair(number, Impairment::LostReply(request));
                self.end_in(lasts, number, Remedy::Restore { process });
            }
            Fault::BrokenRequest { request, .. } => {
                let number = self.field.chronicle.began(&fault, "at all processes");
                self.fleet.all_links().for_each(|links| links.impair(number, Impairment::Broken(request)));
                self.end_in(lasts, number, Remedy::RestoreAll);
            }
            Fault::SkewClock { process, rate } => {
                let number = self.began(&fault, process);
                self.fleet.kill(process)?;
                self.fleet.run(process, Clock::Skewed(rate))?;
                self.field.chronicle.ended(number);
            }
            Fault::EndSession { process } => {
                let sessions = links(self.fleet, process);
                let victim = Victim { process: self.fleet.process(process), sessions };
                self.inject(fault, Some(victim))?;
            }
            _ => self.inject(fault, None)?,
        }
        Ok(())
    }

    fn began(&self, fault: &Fault, process: usize) -> u64 {
        self.field.chronicle.began(fault, &format!("at {}", self.fleet.process(process)))
    }

    fn inject(&mut self, fault: Fault, victim: Option<Victim>) -> io::Result<()> {
        self.threads.push(self.field.inject(fault, victim)?);
        Ok(())
    }

    fn end_in(&mut self, lasts: Duration, number: u64, remedy: Remedy) {
        self.due.push((Instant::now() + lasts, Act::End(number, remedy)));
    }

    fn remedy(&mut self, number: u64, remedy: Remedy) -> io::Result<()> {
        match remedy {
            Remedy::Run { process } => self.fleet.run(process, Clock::True)?,
            Remedy::GoOn { process } => self.fleet.go_on(process)?,
            Remedy::Restore { process } => self.fleet.links_mut(process).restore(number),
            Remedy::RestoreAll => {
                self.fleet.all_links().for_each(|links| links.restore(number));
            }
        }
        Ok(())
    }
}

/// The pause between two looks at the schedule.
const STEP: Duration = Duration::from_millis(10);
