//! Plays a schedule: begins and ends each fault at its time.

use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::fleet::{Clock, Exit, Fleet};
use crate::injection::Field;
use crate::schedule::{Blow, Fault, Plan, Strike};

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
    End(u64, Fault),
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

    fn perform(&mut self, act: Act) -> io::Result<()> {
        match act {
            Act::Begin(fault) => self.begin(fault),
            Act::End(number, fault) => {
                self.end(number, &fault)?;
                self.field.chronicle.ended(number);
                Ok(())
            }
        }
    }

    /// Begins a fault of processes or of their links, and has others injected.
    fn begin(&mut self, fault: Fault) -> io::Result<()> {
        let (chronicle, fleet) = (&self.field.chronicle, &mut *self.fleet);
        let number = match &fault.strike {
            Strike::Process(process, blow) => {
                let process = *process;
                let number = chronicle.began(&fault, &format!("at {}", fleet.process(process)));
                match *blow {
                    Blow::Kill => fleet.kill(process)?,
                    Blow::Stop => fleet.stop(process, number)?,
                    Blow::Skew(rate) => {
                        fleet.kill(process)?;
                        fleet.run(process, Clock::Skewed(rate))?;
                    }
                    Blow::Cut(how) => fleet.links_mut(process).cut(how),
                }
                number
            }
            Strike::Impair(processes, impairment) => {
                let number = chronicle.began(&fault, "");
                processes.clone().for_each(|process| {
                    fleet.links_mut(process).impair(number, impairment.clone());
                });
                number
            }
            Strike::EndSession(process) => {
                let victim = (fleet.process(*process), fleet.links_mut(*process).sessions());
                self.threads.push(self.field.inject(fault, Some(victim))?);
                return Ok(());
            }
            _ => {
                self.threads.push(self.field.inject(fault, None)?);
                return Ok(());
            }
        };
        self.due.push((Instant::now() + fault.lasts, Act::End(number, fault)));
        Ok(())
    }

    /// Ends a fault of processes or of their links.
    fn end(&mut self, number: u64, fault: &Fault) -> io::Result<()> {
        match &fault.strike {
            Strike::Process(process, Blow::Kill) => self.fleet.run(*process, Clock::True),
            Strike::Process(process, Blow::Stop) => self.fleet.restore(*process, number),
            Strike::Impair(processes, _) => {
                processes.clone().for_each(|process| self.fleet.links_mut(process).restore(number));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The pause between two looks at the schedule.
const STEP: Duration = Duration::from_millis(10);
