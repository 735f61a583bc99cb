//! The live sessions and their expiry: `SessionTrackerImpl` and `ExpiryQueue`.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    /// The timeout in milliseconds.
    pub(super) timeout: i32,
    /// The time at which the session expires if no request arrives before, always a multiple of the tick.
    pub(super) expires_at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sessions {
    /// The server's tick in milliseconds.
    tick: i64,
    pub(super) next_id: i64,
    pub(super) live: BTreeMap<i64, Session>,
}

impl Sessions {
    /// Creates the sessions of a new server.
    ///
    /// The first id is that of `SessionTrackerImpl.initializeNextSessionId`. Every id contains the number of
    /// a standalone server, which is 1, so no id is zero. Zero means no session.
    pub(super) fn new(tick: i64, now: i64) -> Self {
        let time = now.cast_unsigned().unbounded_shl(24).unbounded_shr(8).cast_signed();
        Self { tick, next_id: time | 1 << 56, live: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, timeout: i32, now: i64) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let expires_at = self.expiry(timeout, now);
        self.live.insert(id, Session { timeout, expires_at });
        id
    }

    /// Gives a session a newly negotiated timeout, and returns whether it exists.
    pub(super) fn attach(&mut self, id: i64, timeout: i32, now: i64) -> bool {
        let expires_at = self.expiry(timeout, now);
        self.live.get_mut(&id).map(|session| *session = Session { timeout, expires_at }).is_some()
    }

    /// Lets a session expire after its timeout, unless it is touched again.
    ///
    /// A time that is over already never comes, because `ExpiryQueue.poll` looks at the next tick alone.
    pub(super) fn touch(&mut self, id: i64, now: i64) {
        let tick = self.tick;
        if let Some(session) = self.live.get_mut(&id) {
            let expiry = next_tick(now.saturating_add(session.timeout.into()), tick);
            session.expires_at = if expiry > now { expiry } else { i64::MAX };
        }
    }

    pub(super) fn expired(&self, now: i64) -> Vec<i64> {
        self.live.iter().filter(|(_, session)| session.expires_at <= now).map(|(id, _)| *id).collect()
    }

    pub(super) fn next_expiry(&self) -> Option<i64> {
        self.live.values().map(|session| session.expires_at).min()
    }

    /// Starts the timeout of every session anew, as a server does when it starts.
    pub(super) fn restart(&mut self, now: i64) {
        let tick = self.tick;
        for session in self.live.values_mut() {
            session.expires_at = next_tick(now.saturating_add(session.timeout.into()), tick);
        }
    }

    fn expiry(&self, timeout: i32, now: i64) -> i64 {
        next_tick(now.saturating_add(timeout.into()), self.tick)
    }
}

/// Returns the first tick after this time: `ExpiryQueue.roundToNextInterval`.
fn next_tick(time: i64, tick: i64) -> i64 {
    (time / tick + 1).saturating_mul(tick)
}

/// Returns the password of a session, derived from its id as in `ZooKeeperServer.generatePasswd`.
///
/// The password is 16 bytes of `java.util.Random`, seeded with the id and a constant. A client that knows the
/// id of a session can therefore attach to the session, on an embedded server as on a real one.
pub fn session_password(session_id: i64) -> [u8; 16] {
    const SECRET: i64 = 0xB341_5C00;
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;
    let mut seed = ((session_id ^ SECRET).cast_unsigned() ^ MULTIPLIER) & MASK;
    let mut password = [0; 16];
    for bytes in password.chunks_exact_mut(4) {
        seed = (seed.wrapping_mul(MULTIPLIER) + 0xB) & MASK;
        bytes.copy_from_slice(&((seed >> 16) as u32).to_le_bytes());
    }
    password
}
