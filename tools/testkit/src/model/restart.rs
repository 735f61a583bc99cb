//! Restarts of the server.

use std::time::Duration;

use super::watches::Watches;
use super::{Model, millis};

impl Model {
    /// Restarts the server: connections and watches are gone, and the timeout of every session starts anew.
    pub fn restart(&mut self, now: Duration) {
        self.now = self.now.max(millis(now));
        self.disconnect_all();
        self.sessions.restart(self.now);
    }

    /// Restarts the server without any data, session or transaction.
    ///
    /// New sessions and connections get ids that were not assigned before.
    pub fn restart_empty(&mut self, now: Duration) {
        let now = now.max(Duration::from_millis(self.now.max(0).unsigned_abs()));
        let new = Self::new(self.settings.clone(), now);
        let sessions = new.sessions.after(&self.sessions);
        *self = Self { sessions, ahead: self.ahead, next_connection: self.next_connection, ..new };
    }

    /// Removes all connections, their watches and their pending outputs.
    pub fn disconnect_all(&mut self) {
        self.connections.clear();
        self.watches = Watches::default();
        self.sessions.detach_all();
        self.outputs.clear();
    }
}
