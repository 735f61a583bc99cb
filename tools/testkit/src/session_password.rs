//! The derivation of session passwords.
//!
//! This module may use no other module of the crate.

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
