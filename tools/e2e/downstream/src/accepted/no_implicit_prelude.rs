//! The expansion names everything by an absolute path.

#![no_implicit_prelude]

/// Modules with the names of the crates that the expansion uses.
mod zklock {}
mod core {}
mod std {}

#[::zklock::distributed_lock(path = "/orders/{id}", wait = "5s", guard = held)]
pub async fn settle(id: u64) -> ::core::result::Result<u64, ::zklock::LockError> {
    let _ = held;
    ::core::result::Result::Ok(id)
}

/// Arguments may have the names of generated variables.
#[::zklock::distributed_lock(path = __path)]
pub async fn names(__path: &str, __held: u8, __error: u8) -> ::core::result::Result<u8, ::zklock::LockError> {
    let _: &str = __path;
    ::core::result::Result::Ok(__held + __error)
}

#[::zklock::distributed_lock(path = __path)]
pub fn blocking(__path: &str, __held: u8) -> ::core::result::Result<u8, ::zklock::LockError> {
    let _: &str = __path;
    ::core::result::Result::Ok(__held)
}

#[::zklock::distributed_lock(path = [__path, "/other"], once_per = "1m")]
pub async fn once(__path: &str, __once: u8) -> ::core::result::Result<(), ::zklock::LockError> {
    let _: (&str, u8) = (__path, __once);
    ::core::result::Result::Ok(())
}

#[::zklock::leader_only(once_per = __once, tick = __path)]
pub fn blocking_once(__path: &str, __once: ::core::time::Duration) {}

#[::zklock::distributed_lock(path = "/skipped", skip)]
pub async fn skipped(__error: u8) {
    let _: u8 = __error;
}

#[::zklock::distributed_lock(path = "/replaced", otherwise = |_| ::core::result::Result::Ok(__error), map_err = |_| __held)]
pub async fn replaced(__error: u8, __held: u8) -> ::core::result::Result<u8, u8> {
    ::core::result::Result::Ok(__error)
}

#[::zklock::distributed_lock(path = "/permits", permits = __permits, of = __held)]
pub async fn permits(__permits: u32, __held: u32) -> ::core::result::Result<(), ::zklock::LockError> {
    ::core::result::Result::Ok(())
}

#[::zklock::distributed_lock(path = ["/one", ..__path])]
pub fn spread(__path: &[&str]) -> ::core::result::Result<(), ::zklock::LockError> {
    ::core::result::Result::Ok(())
}
