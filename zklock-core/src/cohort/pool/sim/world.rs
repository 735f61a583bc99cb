//! The state of the world: two clients, the servers, and a clock.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use crate::client::settings::Queueing;
use crate::cohort::attendant::Rouse;
use crate::cohort::call::{Call, CallId};
use crate::cohort::rules::{Rules, Served};
use crate::cohort::screen::{Lease, Screen};
use crate::cohort::tenancy::{Look, Ready, TenancyId};
use crate::cohort::trail::Trail;

use super::super::{ContenderId, Pool};
use super::step::Step;

/// One scene: the number of each client's calls, and what may happen to them.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) calls: [usize; 2],
    /// The number of permits.
    pub(super) of: usize,
    /// The greatest number of contenders of a client.
    pub(super) most: usize,
    pub(super) faults: usize,
    pub(super) kinds: &'static [Fault],
    /// The number of bounds that pass.
    pub(super) ticks: u32,
    pub(super) choices: &'static [Choice],
}

/// The actions of callers besides waiting, holding and giving back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Leave,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Suspend,
    Outsider,
    Revoke,
    UnknownWrite,
    Refuse,
    Close,
}

/// The bound of time, and the step of the clock.
pub(super) const WITHIN: Duration = Duration::from_millis(50);
/// The bound of grants.
pub(super) const TURNS: u32 = 2;

#[derive(Clone)]
pub(super) struct World {
    pub(super) setup: &'static Setup,
    pub(super) screen: Screen,
    pub(super) begin: Instant,
    pub(super) now: Instant,
    pub(super) clients: Vec<Client>,
    pub(super) nodes: Vec<Node>,
    pub(super) next_zxid: usize,
    pub(super) faults_left: usize,
    pub(super) trail: Trail<Step>,
}

#[derive(Clone, Hash)]
pub(super) struct Client {
    pub(super) pool: Pool<usize, Lease>,
    pub(super) calls: Vec<Caller>,
    pub(super) contenders: Vec<Contender>,
    pub(super) task: Task,
    /// Whether the task was woken since it looked at its agenda.
    pub(super) is_roused: bool,
    pub(super) is_connected: bool,
    pub(super) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    pub(super) id: Option<CallId>,
    pub(super) state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallState {
    Idle,
    InLine,
    /// The future is dropped, which the pool does not know yet.
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
    pub(super) tenancy: TenancyId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Contender {
    pub(super) id: ContenderId,
    pub(super) zxid: Option<usize>,
    pub(super) is_cancelled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    Absent,
    Awake,
    Asleep { until: Option<Instant>, parked: Vec<TenancyId> },
}

/// A node of a client. Its number is its place in the queue, and its zxid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) zxid: usize,
    pub(super) client: usize,
    pub(super) exists: bool,
    pub(super) tenure: Option<Tenure>,
}

/// The knowledge of a client about a node by which it has a permit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tenure {
    pub(super) is_lost: bool,
    pub(super) is_asked: bool,
    pub(super) is_doubtful: bool,
    pub(super) is_writing: bool,
    /// Whether the watch of the entry has fired.
    pub(super) has_fired: bool,
    /// Whether the end of the node would go unnoticed.
    pub(super) is_unwatched: bool,
    /// Counted beside the pool.
    pub(super) grants: u32,
    pub(super) first: Option<Instant>,
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

impl Tenure {
    pub(super) fn look(&self, is_connected: bool) -> Look {
        let ready = if self.is_lost || self.is_asked || self.is_doubtful {
            Ready::Never
        } else if is_connected && !(self.is_unwatched && self.grants > 0) {
            Ready::Now
        } else {
            Ready::NotYet
        };
        Look { ready, is_writing: self.is_writing, company: None }
    }
}

impl Node {
    pub(super) fn is_lost(&self) -> bool {
        self.tenure.is_some_and(|tenure| tenure.is_lost)
    }
}

impl World {
    pub(super) fn new(setup: &'static Setup) -> Self {
        let begin = Instant::now();
        let client = |calls: &usize| Client {
            pool: Pool::new(Queueing::new(TURNS, WITHIN), setup.most),
            calls: vec![Caller { id: None, state: CallState::Idle }; *calls],
            contenders: Vec::new(),
            task: Task::Absent,
            is_roused: false,
            is_connected: true,
            is_closed: false,
        };
        Self {
            setup,
            screen: Screen::default(),
            begin,
            now: begin,
            clients: setup.calls.iter().map(client).collect(),
            nodes: Vec::new(),
            next_zxid: 1,
            faults_left: setup.faults,
            trail: Trail::default(),
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.clients, &self.nodes, self.now, self.next_zxid, self.faults_left).hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn allows(&self, fault: Fault) -> bool {
        self.faults_left > 0 && self.setup.kinds.contains(&fault)
    }

    pub(super) fn node(&self, zxid: usize) -> &Node {
        self.nodes.iter().find(|node| node.zxid == zxid).expect("the node is not forgotten")
    }

    pub(super) fn tenure(&mut self, zxid: usize) -> &mut Tenure {
        let node = self.nodes.iter_mut().find(|node| node.zxid == zxid);
        node.and_then(|node| node.tenure.as_mut()).expect("the node has a tenure")
    }

    /// Returns whether a node exists and has a permit.
    pub(super) fn is_head(&self, zxid: usize) -> bool {
        let in_front = self.nodes.iter().filter(|node| node.exists && node.zxid < zxid);
        self.node(zxid).exists && in_front.count() < self.setup.of
    }

    /// Returns whether a client still uses a lease: its pool or a holder.
    pub(super) fn is_used(&self, client: usize, zxid: usize) -> bool {
        let client = &self.clients[client];
        let pool = &client.pool;
        let by_pool =
            pool.held.values().chain(&pool.parked).any(|permit| permit.lease().lease().zxid == zxid);
        by_pool || client.calls.iter().any(|call| call.share().is_some_and(|share| share.zxid == zxid))
    }

    /// Shows the leases of a client to its pool, which may look at them now.
    pub(super) fn show(&self, client: usize) {
        let is_connected = self.clients[client].is_connected;
        let mut screen = self.screen.borrow_mut();
        screen.clear();
        for node in &self.nodes {
            screen.extend(node.tenure.map(|tenure| (node.zxid, tenure.look(is_connected))));
        }
    }

    /// Performs a change of a pool and its effects, and rouses the task.
    pub(super) fn change(
        &mut self,
        client: usize,
        change: impl FnOnce(&mut Pool<usize, Lease>, Instant) -> Served<usize, Lease>,
    ) {
        self.show(client);
        let served = change(&mut self.clients[client].pool, self.now);
        self.deliver(client, served);
        self.rouse(client);
    }

    /// Sends the grants. One whose receiver is gone is given back.
    pub(super) fn deliver(&mut self, client: usize, served: Served<usize, Lease>) {
        let mut open = vec![served];
        while let Some(served) = open.pop() {
            self.check_batch(client, &served.grants);
            for granted in served.grants {
                let index = granted.call.caller.expect("a granted call is alive");
                let share = Share { zxid: granted.lease.zxid, tenancy: granted.tenancy };
                let call = &mut self.clients[client].calls[index];
                assert!(call.is_in_line(), "a call in state {:?} is granted", call.state);
                if call.state == CallState::Leaving {
                    call.state = CallState::Done;
                    self.show(client);
                    open.push(self.clients[client].pool.given_back(share.tenancy, self.now));
                } else {
                    call.state = CallState::Sent(share);
                }
            }
        }
    }

    pub(super) fn rouse(&mut self, client: usize) {
        self.show(client);
        let client = &mut self.clients[client];
        match client.pool.rouse() {
            Rouse::Nobody => {}
            Rouse::Wake => client.is_roused = true,
            Rouse::Start => {
                assert_eq!(client.task, Task::Absent, "a second task is started");
                client.task = Task::Awake;
            }
        }
    }

    /// Ends calls that are answered otherwise than by a grant.
    pub(super) fn answer(&mut self, client: usize, calls: Vec<Call<usize>>) {
        for call in calls {
            let index = call.caller.expect("an answered call is alive");
            let call = &mut self.clients[client].calls[index];
            assert!(call.is_in_line(), "a call in state {:?} is answered", call.state);
            call.state = CallState::Done;
        }
    }
}
