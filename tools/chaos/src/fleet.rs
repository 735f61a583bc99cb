//! The processes of a campaign, and the links from each of them to each server.
//!
//! The thread that calls [`Fleet::run_all`] lives longer than the processes do, because a process ends with the thread that
//! started it.

mod clocks;

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use zklock_testkit::{Direction, Error, How, Proxy};

use crate::history::{Event, Process, Source};
use crate::journal::{Journal, at_rest};
use crate::orders::Orders;
use crate::schedule::Impairment;

pub(crate) use self::clocks::{Skew, TRUE};

/// All processes. Those that still run are killed on drop.
pub(crate) struct Fleet {
    /// The orders that all processes have in common.
    orders: Orders,
    /// `None` if all clocks are true.
    skew: Option<Skew>,
    journal: Journal,
    members: Vec<Member>,
}

/// The place of a process, whose incarnations follow each other.
struct Member {
    links: Links,
    process: Process,
    /// `None` if none runs or stands still.
    child: Option<Child>,
    /// Whether a fault keeps the next incarnation from its start.
    is_down: bool,
    /// The rate of the next incarnation's clock, in thousandths of the true one.
    rate: u32,
    /// The numbers of the faults for which this incarnation stands still. The last one that ends lets it go on.
    stops: Vec<u64>,
}

impl Fleet {
    /// Opens the links of so many processes to these servers. No process runs yet.
    pub(crate) fn start(
        orders: Orders,
        skew: Option<Skew>,
        journal: &Journal,
        servers: &[SocketAddr],
        processes: usize,
    ) -> Result<Self, Error> {
        let mut members = Vec::new();
        for number in (0..).take(processes) {
            let (links, process) = (Links::start(servers)?, Process { number, incarnation: 0 });
            let stops = Vec::new();
            members.push(Member { links, process, child: None, is_down: false, rate: TRUE, stops });
        }
        Ok(Self { orders, skew, journal: journal.clone(), members })
    }

    pub(crate) fn links(&mut self, number: usize) -> &mut Links {
        &mut self.members[number].links
    }

    pub(crate) fn process(&self, number: usize) -> Process {
        self.members[number].process
    }

    /// Starts the next incarnation of each process of which none runs, unless a fault keeps it down.
    pub(crate) fn run_all(&mut self) -> io::Result<()> {
        let idle = |member: &Member| member.child.is_none() && !member.is_down;
        let numbers: Vec<_> = (0..self.members.len()).filter(|number| idle(&self.members[*number])).collect();
        numbers.into_iter().try_for_each(|number| self.run(number))
    }

    fn run(&mut self, number: usize) -> io::Result<()> {
        let member = &mut self.members[number];
        let (process, rate) = (member.process, member.rate);
        let mut orders = Orders { connect: member.links.connect_string(), process, ..self.orders.clone() };
        let output = File::create(orders.directory.join(format!("output-{process}.log")))?;
        let mut command = Command::new(std::env::current_exe()?);
        if let Some(skew) = self.skew.as_ref().filter(|_| rate != TRUE) {
            orders.rate = rate;
            skew.load(rate, &mut command);
        }
        command.args(["worker", &serde_json::to_string(&orders)?]).env("RUST_BACKTRACE", "1");
        // Signals from a terminal are for the campaign.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        member.child = Some(command.spawn()?);
        Ok(())
    }

    /// Kills a process, and keeps it down until it is [let up](Self::let_up).
    pub(crate) fn take_down(&mut self, number: usize) -> io::Result<()> {
        self.members[number].is_down = true;
        self.kill(number)
    }

    /// Lets a process start again, with a clock of this rate in thousandths of the true one.
    pub(crate) fn let_up(&mut self, number: usize, rate: u32) {
        let member = &mut self.members[number];
        (member.is_down, member.rate) = (false, rate);
    }

    /// Kills a process, whether it runs or stands still. One that has ended by itself is left to [`ended`](Self::ended).
    fn kill(&mut self, number: usize) -> io::Result<()> {
        let member = &mut self.members[number];
        let Some(child) = &mut member.child else { return Ok(()) };
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        self.journal.note(Source::Campaign, Event::ProcessKilled { process: member.process });
        child.kill()?;
        child.wait()?;
        member.end();
        Ok(())
    }

    /// Stops a process until the fault with this number ends.
    pub(crate) fn stop(&mut self, number: usize, fault: u64) -> io::Result<()> {
        let member = &mut self.members[number];
        let Some(child) = &member.child else { return Ok(()) };
        member.stops.push(fault);
        if member.stops.len() == 1 {
            self.journal.note(Source::Campaign, Event::ProcessStopped { process: member.process });
            kill_process(Pid::from_child(child), Signal::STOP)?;
        }
        Ok(())
    }

    /// Ends the stop of the fault with this number. The process goes on if no other fault stops it.
    pub(crate) fn restore(&mut self, number: usize, fault: u64) -> io::Result<()> {
        match self.members[number].stops[..] {
            [last] if last == fault => self.go_on(number),
            _ => {
                self.members[number].stops.retain(|stop| *stop != fault);
                Ok(())
            }
        }
    }

    fn go_on(&mut self, number: usize) -> io::Result<()> {
        let member = &mut self.members[number];
        if let Some(child) = &member.child
            && !std::mem::take(&mut member.stops).is_empty()
        {
            kill_process(Pid::from_child(child), Signal::CONT)?;
            self.journal.note(Source::Campaign, Event::ProcessContinued { process: member.process });
        }
        Ok(())
    }

    /// Returns a line for each process that has ended without being told to.
    pub(crate) fn ended(&mut self) -> io::Result<Vec<String>> {
        let mut exits = Vec::new();
        for member in &mut self.members {
            if let Some(child) = &mut member.child
                && let Some(status) = child.try_wait()?
            {
                exits.push(member.exited(&self.journal, status));
            }
        }
        Ok(exits)
    }

    /// Tells all processes to give their locks back and to keep their sessions, and waits until they have. Those that do
    /// not in time are found by [`finish`](Self::finish).
    pub(crate) fn rest(&mut self, within: Duration) -> io::Result<()> {
        self.tell_all("stop")?;
        let deadline = Instant::now() + within;
        for member in &mut self.members {
            let path = at_rest(&self.orders.directory, member.process);
            while let Some(child) = &mut member.child
                && !path.exists()
                && child.try_wait()?.is_none()
                && Instant::now() < deadline
            {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Tells all processes that are at rest to end. Returns a line for each that failed to, which is killed.
    pub(crate) fn finish(&mut self, within: Duration) -> io::Result<Vec<String>> {
        self.tell_all("end")?;
        let (deadline, mut failed) = (Instant::now() + within, Vec::new());
        for number in 0..self.members.len() {
            failed.extend(self.finish_one(number, deadline)?);
        }
        Ok(failed)
    }

    fn tell_all(&mut self, word: &str) -> io::Result<()> {
        for number in 0..self.members.len() {
            self.go_on(number)?;
            if let Some(child) = &mut self.members[number].child
                && let Some(input) = &mut child.stdin
            {
                // A process that has ended is found later.
                let _ = writeln!(input, "{word}");
            }
        }
        Ok(())
    }

    fn finish_one(&mut self, number: usize, deadline: Instant) -> io::Result<Option<String>> {
        let member = &mut self.members[number];
        while let Some(child) = &mut member.child {
            if let Some(status) = child.try_wait()? {
                let exit = member.exited(&self.journal, status);
                return Ok((!status.success()).then_some(exit));
            }
            if Instant::now() > deadline {
                let process = member.process;
                self.kill(number)?;
                return Ok(Some(format!("{process} did not stop in time")));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }
}

impl Member {
    fn end(&mut self) {
        self.child = None;
        self.stops.clear();
        self.process.incarnation += 1;
    }

    fn exited(&mut self, journal: &Journal, status: ExitStatus) -> String {
        let process = self.process;
        journal.note(Source::Campaign, Event::ProcessExited { process });
        // The campaign fails, and a process that fails again and again shows no more.
        self.is_down = true;
        self.end();
        format!("{process} has ended: {status}")
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for number in 0..self.members.len() {
            // A drop cannot report an error.
            let _ = self.kill(number);
        }
    }
}

/// The links of one process, in the order of the servers.
#[derive(Debug)]
pub(crate) struct Links {
    proxies: Vec<Proxy>,
    /// The present faults, each with its number.
    present: Vec<(u64, Impairment)>,
}

impl Links {
    fn start(servers: &[SocketAddr]) -> Result<Self, Error> {
        let proxies = servers.iter().map(|server| Proxy::start(*server)).collect::<Result<_, _>>()?;
        Ok(Self { proxies, present: Vec::new() })
    }

    fn connect_string(&self) -> String {
        let addresses: Vec<_> = self.proxies.iter().map(Proxy::connect_string).collect();
        addresses.join(",")
    }

    pub(crate) fn cut(&self, how: How) {
        self.proxies.iter().for_each(|proxy| proxy.cut(how));
    }

    /// Impairs the links until the fault with this number ends.
    pub(crate) fn impair(&mut self, number: u64, impairment: Impairment) {
        self.apply(&impairment);
        self.present.push((number, impairment));
    }

    /// Ends the fault with this number. Those of other faults stay.
    pub(crate) fn restore(&mut self, number: u64) {
        self.present.retain(|(present, _)| *present != number);
        for proxy in &self.proxies {
            proxy.heal();
            proxy.clear();
        }
        self.present.iter().for_each(|(_, impairment)| self.apply(impairment));
    }

    fn apply(&self, impairment: &Impairment) {
        match impairment {
            Impairment::Silence(servers, direction) => {
                servers.iter().for_each(|server| self.proxies[*server].blackhole(*direction));
            }
            Impairment::LostReply(request) => {
                for proxy in &self.proxies {
                    proxy.on_reply(*request).cut(How::Fin);
                }
            }
            Impairment::Broken(request) => {
                for proxy in &self.proxies {
                    proxy.on_request(*request).always().cut_after(How::Fin);
                }
            }
            Impairment::Delay(delay) => {
                for (nth, proxy) in (1..).zip(&self.proxies) {
                    proxy.delay(Direction::Both, *delay * nth / 2);
                }
            }
        }
    }

    pub(crate) fn sessions(&self) -> Vec<i64> {
        let mut sessions: Vec<_> = self.proxies.iter().flat_map(Proxy::sessions).collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }
}

/// The pause between two looks at a process that is to end.
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_goes_on_when_the_last_of_its_stops_ends() {
        let directory = tempfile::tempdir().unwrap();
        let orders = Orders::of_a_test(directory.path());
        let journal = Journal::create(directory.path(), Source::Campaign).unwrap();
        let mut fleet = Fleet::start(orders, None, &journal, &[], 1).unwrap();
        let sleep = || Some(Command::new("sleep").arg("1000").spawn().unwrap());
        let history = directory.path().join("history-campaign.jsonl");
        let times = |what| std::fs::read_to_string(&history).unwrap().matches(what).count();
        let noted = || (times("process_stopped"), times("process_continued"));
        fleet.members[0].child = sleep();
        fleet.stop(0, 1).unwrap();
        fleet.stop(0, 2).unwrap();
        fleet.restore(0, 1).unwrap();
        assert_eq!(noted(), (1, 0));
        fleet.restore(0, 2).unwrap();
        assert_eq!(noted(), (1, 1));
        // The stop of an incarnation that was killed does not end that of the next one.
        fleet.stop(0, 3).unwrap();
        fleet.kill(0).unwrap();
        fleet.members[0].child = sleep();
        fleet.stop(0, 4).unwrap();
        fleet.restore(0, 3).unwrap();
        assert_eq!(noted(), (3, 1));
    }
}
