use std::time::Duration;

use super::watches::Watches;
use super::{Model, millis};

impl Model {
    /// Stops and starts the server: connections and watches are gone, sessions have their whole timeout.
    pub fn restart(&mut self, now: Duration) {
        self.now = self.now.max(millis(now));
        self.disconnect_all();
        self.sessions.restart(self.now);
    }

    /// Starts the server again with nothing but the knowledge of which ids were given before.
    pub fn restart_empty(&mut self, now: Duration) {
        let new = Self::new(self.settings, now.max(Duration::from_millis(self.now.max(0).unsigned_abs())));
        let sessions = new.sessions.after(&self.sessions);
        *self = Self { sessions, next_connection: self.next_connection, ..new };
    }

    /// Learns that all connections are gone.
    pub fn disconnect_all(&mut self) {
        self.connections.clear();
        self.watches = Watches::default();
        self.sessions.detach_all();
        self.outputs.clear();
    }
}
