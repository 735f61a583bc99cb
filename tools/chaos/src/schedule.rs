//! The schedule of faults: a pure function of its plan. Uses no other module.
//!
//! A fault names a process and a server by number. The parts that cannot be known before the run, such as the server
//! that leads, or the nodes that exist, are found when the fault begins.

mod fault;

use std::time::Duration;

use fastrand::Rng;

pub(crate) use self::fault::{Blow, Fault, Impairment, Kind, Strike, Target};

/// The choices that a schedule follows from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) length: Duration,
    pub(crate) servers: usize,
    pub(crate) processes: usize,
    /// The kinds of faults to draw from, none for a run without faults.
    pub(crate) kinds: Vec<Kind>,
}

/// A fault, and the time from the beginning of the run at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
}

impl Plan {
    /// Returns the faults in the order of their times. Each of them ends before the run does.
    pub(crate) fn schedule(&self) -> Vec<Planned> {
        let mut rng = Rng::with_seed(self.seed);
        let (mut at, mut planned) = (QUIET, Vec::new());
        // One fault of the servers at a time, because each can take their majority.
        let mut servers_are_whole_at = Duration::ZERO;
        while at + QUIET < self.length && !self.kinds.is_empty() {
            let kind = self.kinds[rng.usize(..self.kinds.len())];
            let fault = kind.draw(&mut rng, self);
            let ends = at + fault.lasts;
            let is_allowed = !kind.is_of_servers() || at >= servers_are_whole_at;
            if is_allowed && ends + QUIET <= self.length {
                if kind.is_of_servers() {
                    servers_are_whole_at = ends + RECOVERY;
                }
                planned.push(Planned { at, fault });
            }
            at += Duration::from_millis(rng.u64(PAUSE_MS));
        }
        planned
    }
}

/// The time without faults at both ends of a run.
const QUIET: Duration = Duration::from_secs(2);
/// The time that servers get to agree again after a fault of one of them.
const RECOVERY: Duration = Duration::from_secs(3);
/// The time from one fault to the next.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 300..=3_000;

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn plan(seed: u64) -> Plan {
        let kinds = Kind::value_variants().to_vec();
        Plan { seed, length: Duration::from_secs(1_200), servers: 3, processes: 8, kinds }
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        assert_eq!(plan(7).schedule(), plan(7).schedule());
        assert_ne!(plan(7).schedule(), plan(8).schedule());
    }

    #[test]
    fn a_longer_run_begins_with_the_schedule_of_a_shorter_one() {
        let short = Plan { length: Duration::from_secs(120), ..plan(3) }.schedule();
        let safe = Duration::from_secs(100);
        let begin = |planned: Vec<Planned>| {
            planned.into_iter().take_while(|planned| planned.at < safe).collect::<Vec<_>>()
        };
        assert_eq!(begin(short), begin(plan(3).schedule()));
    }

    #[test]
    fn a_long_schedule_has_faults_of_every_kind_in_order_and_within_the_run() {
        let planned = plan(1).schedule();
        assert!(planned.is_sorted_by_key(|planned| planned.at));
        assert!(planned.iter().all(|planned| planned.at + planned.fault.lasts <= plan(1).length));
        for kind in Kind::value_variants() {
            assert!(planned.iter().any(|planned| planned.fault.kind == *kind), "{kind:?}");
        }
    }

    #[test]
    fn faults_of_servers_do_not_overlap() {
        let planned = plan(2).schedule();
        let of_servers: Vec<_> =
            planned.iter().filter(|planned| planned.fault.kind.is_of_servers()).collect();
        for pair in of_servers.windows(2) {
            assert!(pair[0].at + pair[0].fault.lasts < pair[1].at, "{pair:?}");
        }
    }

    #[test]
    fn a_plan_without_kinds_has_no_faults_and_one_of_a_kind_has_no_others() {
        assert!(Plan { kinds: Vec::new(), ..plan(1) }.schedule().is_empty());
        let planned = Plan { kinds: vec![Kind::KillClient], ..plan(1) }.schedule();
        assert!(planned.len() > 50 && planned.iter().all(|planned| planned.fault.kind == Kind::KillClient));
    }

    #[test]
    fn processes_and_servers_exist() {
        let plan = Plan { servers: 5, processes: 2, ..plan(4) };
        let is_server = |target: &Target| !matches!(target, Target::Server(5..));
        for Planned { fault, .. } in plan.schedule() {
            let exists = match &fault.strike {
                Strike::Process(process, _) | Strike::EndSession(process) => *process < 2,
                Strike::Impair(processes, Impairment::Silence(servers, _)) => {
                    processes.end <= 2 && servers.iter().all(|server| *server < 5)
                }
                Strike::Impair(processes, _) => processes.end <= 2,
                Strike::KillServer(server)
                | Strike::LaggingServer(server, _)
                | Strike::FullDisk(server)
                | Strike::SlowDisk(server, _) => is_server(server),
                Strike::SilentServers(servers) => servers.iter().all(is_server),
                Strike::DeleteNode(_) | Strike::ReapContainers | Strike::RollingRestart => true,
            };
            assert!(exists, "{fault:?}");
        }
    }
}
