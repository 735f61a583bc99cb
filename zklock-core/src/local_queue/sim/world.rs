//! The state of the world: two processes, the servers, and a clock.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use super::trail::Trail;
use crate::client::settings::Queueing;
use crate::deadline::{Contention, Deadline};
use crate::local_queue::held::{Mode, NodeId};
use crate::local_queue::state::{Call, CallId, Entry, Granted, State, Wake};

use super::node::{Claim, Downgrade, Node, Owner, SCREEN};
use super::setup::{Setup, Spec};
use super::step::Step;

/// The bound of time, and the step of the clock.
pub(super) const WITHIN: Duration = Duration::from_millis(50);
/// The bound of grants.
pub(super) const TURNS: u32 = 2;

#[derive(Clone)]
pub(super) struct World {
    pub(super) setup: &'static Setup,
    pub(super) begin: Instant,
    pub(super) now: Instant,
    pub(super) processes: Vec<Process>,
    pub(super) nodes: Vec<Node>,
    pub(super) next_zxid: usize,
    pub(super) foreigner: Foreigner,
    pub(super) faults_left: usize,
    pub(super) trail: Trail<Step>,
    /// The greatest tokens so far.
    pub(super) last_exclusive: Option<(usize, u32)>,
    pub(super) last_of_all: Option<(usize, u32)>,
}

#[derive(Clone, Hash)]
pub(super) struct Process {
    pub(super) state: State<usize, Claim>,
    pub(super) calls: Vec<Caller>,
    pub(super) contender: Option<Contender>,
    pub(super) task: Task,
    /// Whether the task was woken since it looked at its agenda.
    pub(super) is_roused: bool,
    pub(super) is_connected: bool,
    pub(super) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    pub(super) spec: Spec,
    pub(super) id: Option<CallId>,
    pub(super) state: CallState,
    pub(super) deadline: Option<Deadline>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallState {
    Idle,
    InLine,
    /// The future is dropped, which the line does not know yet.
    Leaving,
    /// The grant is sent and not received.
    Sent(Share),
    Holding(Share),
    Done,
}

/// The part of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Share {
    pub(super) zxid: usize,
    pub(super) node: NodeId,
    pub(super) mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Contender {
    pub(super) entry: Entry,
    pub(super) zxid: Option<usize>,
    /// The number in front, until it is told.
    pub(super) untold: Option<usize>,
    pub(super) is_cancelled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    Absent,
    Awake,
    /// Until this instant, or until a lease has given it work. Time alone does not wake it, so that leases are looked at as
    /// of the instant at which it fell asleep.
    Asleep(Option<Instant>, Instant),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Foreigner {
    Away(Option<Mode>),
    Queued(Mode),
    Holding(Mode),
    Done,
}

impl Caller {
    pub(super) fn share(&self) -> Option<Share> {
        match self.state {
            CallState::Sent(share) | CallState::Holding(share) => Some(share),
            _ => None,
        }
    }

    pub(super) fn is_in_line(&self) -> bool {
        matches!(self.state, CallState::InLine | CallState::Leaving)
    }
}

impl World {
    pub(super) fn new(setup: &'static Setup) -> Self {
        let begin = Instant::now();
        let caller = |spec: &Spec| Caller { spec: *spec, id: None, state: CallState::Idle, deadline: None };
        let process = |calls: &&[Spec]| Process {
            state: State::new(Queueing::new(TURNS, WITHIN), setup.kind()),
            calls: calls.iter().map(caller).collect(),
            contender: None,
            task: Task::Absent,
            is_roused: false,
            is_connected: true,
            is_closed: false,
        };
        Self {
            setup,
            begin,
            now: begin,
            processes: setup.calls.iter().map(process).collect(),
            nodes: Vec::new(),
            next_zxid: 1,
            foreigner: Foreigner::Away(setup.foreigner),
            faults_left: setup.faults,
            trail: Trail::default(),
            last_exclusive: None,
            last_of_all: None,
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.processes, &self.nodes, self.now, self.next_zxid, self.foreigner).hash(&mut hasher);
        (self.faults_left, self.last_exclusive, self.last_of_all).hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn node(&mut self, zxid: usize) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.zxid == zxid).expect("the node is not forgotten")
    }

    pub(super) fn node_of(&self, zxid: usize) -> &Node {
        self.nodes.iter().find(|node| node.zxid == zxid).expect("the node is not forgotten")
    }

    /// Returns whether a node exists and nobody in front of it keeps it from holding.
    pub(super) fn is_head(&self, zxid: usize) -> bool {
        let in_front = |node: &&Node| node.exists && node.zxid < zxid;
        if let Some(permits) = self.setup.permits {
            return self.node_of(zxid).exists && self.nodes.iter().filter(in_front).count() < permits;
        }
        let is_reader = self.node_of(zxid).mode == Mode::Shared;
        let is_obstacle = |node: &Node| !is_reader || node.mode == Mode::Exclusive;
        self.node_of(zxid).exists && !self.nodes.iter().filter(in_front).any(is_obstacle)
    }

    /// Creates a node, and returns its number with that of the nodes that keep it from holding.
    pub(super) fn create(&mut self, owner: Owner, mode: Mode) -> (usize, usize) {
        let zxid = self.next_zxid;
        self.next_zxid += 1;
        let is_obstacle =
            |node: &&Node| node.exists && (mode == Mode::Exclusive || node.mode == mode.other());
        let ahead = self.nodes.iter().filter(is_obstacle).count();
        self.nodes.push(Node { zxid, owner, mode, exists: true, lease: None, seen: zxid, has_waited: false });
        (zxid, ahead)
    }

    /// Returns whether a process still uses a lease: its line, or a holder.
    pub(super) fn is_used(&self, process: usize, zxid: usize) -> bool {
        let process = &self.processes[process];
        let by_line = process.state.held.iter().any(|held| held.claim.zxid == zxid);
        by_line || process.calls.iter().any(|call| call.share().is_some_and(|share| share.zxid == zxid))
    }

    /// Shows the leases of a process to its line, which may look at them now.
    pub(super) fn show(&self, process: usize) {
        let is_connected = self.processes[process].is_connected;
        let look = |node: &Node| node.lease.map(|lease| (node.zxid, lease.look(is_connected)));
        SCREEN.set(self.nodes.iter().filter_map(look).collect());
    }

    /// Performs a change of a line and its effects, and rouses the task.
    pub(super) fn change(
        &mut self,
        process: usize,
        change: impl FnOnce(&mut State<usize, Claim>, Instant) -> Vec<Granted<usize, Claim>>,
    ) {
        self.show(process);
        let served = change(&mut self.processes[process].state, self.now);
        self.let_readers_in(process);
        self.rouse(process);
        self.deliver(process, served);
    }

    /// Gives up the nodes that have left.
    fn let_readers_in(&mut self, process: usize) {
        let left = std::mem::take(&mut self.processes[process].state.left);
        left.iter().for_each(|held| self.check_leaving(held));
        for held in left.iter().filter(|held| held.shuts_readers_out()) {
            let lease = self.node(held.claim.zxid).lease();
            if lease.downgrade == Downgrade::No {
                lease.downgrade = Downgrade::Ordered;
            }
        }
    }

    /// Sends the grants. One whose receiver is gone is given back.
    pub(super) fn deliver(&mut self, process: usize, served: Vec<Granted<usize, Claim>>) {
        self.check_batch(process, &served);
        for granted in served {
            let index = granted.call.caller;
            let share = Share { zxid: granted.claim.zxid, node: granted.node, mode: granted.call.mode };
            let call = &mut self.processes[process].calls[index];
            assert!(call.is_in_line(), "a call in state {:?} is granted", call.state);
            if call.state == CallState::Leaving {
                call.state = CallState::Done;
                self.change(process, |state, now| state.given_back(share.node, now));
            } else {
                call.state = CallState::Sent(share);
            }
        }
    }

    pub(super) fn rouse(&mut self, process: usize) {
        self.show(process);
        let (now, process) = (self.now, &mut self.processes[process]);
        match process.state.wake(now) {
            Wake::Nobody => {}
            Wake::Task => process.is_roused = true,
            Wake::NewTask => {
                assert_eq!(process.task, Task::Absent, "a second task is started");
                process.task = Task::Awake;
            }
        }
    }

    /// Ends calls that are answered otherwise than by a grant.
    pub(super) fn answer(&mut self, process: usize, calls: Vec<Call<usize>>) {
        for call in calls {
            let index = call.caller;
            let call = &mut self.processes[process].calls[index];
            assert!(
                call.is_in_line() || call.spec.contention == Contention::Leave,
                "{:?} is answered",
                call.state
            );
            assert!(call.state != CallState::Idle && call.share().is_none());
            call.state = CallState::Done;
        }
    }
}

impl Mode {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Shared => Self::Exclusive,
            Self::Exclusive => Self::Shared,
        }
    }
}
