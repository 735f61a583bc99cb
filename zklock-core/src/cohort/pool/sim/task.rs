//! The work of a pool's task, and of the contenders that it started.

use crate::cohort::rules::Rules;
use crate::cohort::screen::Lease;

use super::super::Agenda;
use super::world::{Contender, Node, Task, Tenure, World};

impl World {
    pub(super) fn create(&mut self, client: usize, nth: usize) {
        // A delete that was sent before arrives before.
        self.delete_leftovers(client);
        let zxid = self.next_zxid;
        self.next_zxid += 1;
        self.nodes.push(Node { zxid, client, exists: true, tenure: None });
        self.clients[client].contenders[nth].zxid = Some(zxid);
        let ahead = self.nodes.iter().filter(|node| node.exists && node.zxid < zxid).count();
        let id = self.clients[client].contenders[nth].id;
        self.clients[client].pool.behind(id, Some(ahead));
    }

    pub(super) fn head(&mut self, client: usize, nth: usize) {
        let contender = self.clients[client].contenders.remove(nth);
        let zxid = contender.zxid.expect("the contender has a node");
        for node in self.nodes.iter_mut().filter(|node| node.zxid == zxid) {
            node.tenure = Some(Tenure::default());
        }
        let lease = Lease { zxid, screen: self.screen.clone() };
        self.show(client);
        let served = self.clients[client].pool.headed(contender.id, lease, self.now);
        self.deliver(client, served);
        self.wake(client);
    }

    pub(super) fn withdraw(&mut self, client: usize, nth: usize) {
        let contender = self.clients[client].contenders.remove(nth);
        if let Some(zxid) = contender.zxid {
            self.delete(zxid);
        }
        self.clients[client].pool.ended(contender.id);
        self.wake(client);
    }

    pub(super) fn refuse(&mut self, client: usize, nth: usize) {
        let contender = self.clients[client].contenders.remove(nth);
        let failed = self.clients[client].pool.refused(contender.id);
        self.answer(client, failed);
        self.change(client, |pool, now| pool.serve(now));
        self.wake(client);
    }

    fn wake(&mut self, client: usize) {
        let task = &mut self.clients[client].task;
        assert_ne!(*task, Task::Absent, "nobody attends to the contender");
        *task = Task::Awake;
    }

    /// One turn of the task's loop.
    pub(super) fn work(&mut self, index: usize) {
        self.show(index);
        let now = self.now;
        self.clients[index].is_roused = false;
        if let Task::Asleep { parked, .. } = std::mem::replace(&mut self.clients[index].task, Task::Awake)
            && !parked.is_empty()
        {
            self.change(index, |pool, now| pool.serve(now));
        }
        let client = &mut self.clients[index];
        match client.pool.agenda(now) {
            Agenda::Enter(id) => client.contenders.push(Contender { id, zxid: None, is_cancelled: false }),
            Agenda::Withdraw(id) => {
                let withdrawn = client.contenders.iter_mut().find(|contender| contender.id == id);
                withdrawn.expect("the contender is under way").is_cancelled = true;
            }
            Agenda::Sleep { until, parked } => client.task = Task::Asleep { until, parked },
            Agenda::Over => {
                assert_eq!(client.contenders, [], "the task leaves a contender alone");
                client.task = Task::Absent;
            }
        }
    }
}
