//! The expansion names everything by an absolute path.

#![no_implicit_prelude]

/// Modules with the names of the crates that the expansion uses.
mod zklock {}
mod core {}
mod std {}

#[::zklock::distributed_lock(path = "/orders/{id}", wait = "5s", guard = held)]
async fn settle(id: u64) -> ::core::result::Result<u64, ::zklock::LockError> {
    let _ = held;
    ::core::result::Result::Ok(id)
}

/// Arguments may have the names of generated variables.
#[::zklock::distributed_lock(path = __path)]
async fn names(__path: &str, __held: u8, __error: u8) -> ::core::result::Result<u8, ::zklock::LockError> {
    let _: &str = __path;
    ::core::result::Result::Ok(__held + __error)
}

#[::zklock::distributed_lock(path = __path)]
fn blocking(__path: &str, __held: u8) -> ::core::result::Result<u8, ::zklock::LockError> {
    let _: &str = __path;
    ::core::result::Result::Ok(__held)
}

#[::zklock::distributed_lock(path = [__path, "/other"], once_per = "1m")]
async fn once(__path: &str, __once: u8) -> ::core::result::Result<(), ::zklock::LockError> {
    let _: (&str, u8) = (__path, __once);
    ::core::result::Result::Ok(())
}

#[::zklock::leader_only(once_per = __once, tick = __path)]
fn blocking_once(__path: &str, __once: ::core::time::Duration) {}

#[::zklock::distributed_lock(path = "/skipped", skip)]
async fn skipped(__error: u8) {
    let _: u8 = __error;
}

#[::zklock::distributed_lock(path = "/replaced", otherwise = |_| ::core::result::Result::Ok(__error), map_err = |_| __held)]
async fn replaced(__error: u8, __held: u8) -> ::core::result::Result<u8, u8> {
    ::core::result::Result::Ok(__error)
}

#[::zklock::distributed_lock(path = "/permits", permits = __permits, of = __held)]
async fn permits(__permits: u32, __held: u32) -> ::core::result::Result<(), ::zklock::LockError> {
    ::core::result::Result::Ok(())
}

#[::zklock::distributed_lock(path = ["/one", ..__path])]
fn spread(__path: &[&str]) -> ::core::result::Result<(), ::zklock::LockError> {
    ::core::result::Result::Ok(())
}

pub fn calls() {
    ::core::mem::drop(settle(7));
    ::core::mem::drop(names("/names", 1, 2));
    ::core::mem::drop(blocking("/names", 1));
    ::core::mem::drop(once("/names", 1));
    blocking_once("/names", ::core::time::Duration::from_secs(1));
    ::core::mem::drop(skipped(1));
    ::core::mem::drop(replaced(1, 2));
    ::core::mem::drop(permits(1, 2));
    ::core::mem::drop(spread(&["/other"]));
}
