//! The attribute macros of zklock.
//!
//! Depend on the crate `zklock`, which re-exports them: the code that they generate calls into it. The entry
//! points use only `expand` and `test`.

mod args;
mod blocking;
mod boxed;
mod capture;
mod duration;
mod errors;
mod expand;
mod grouped;
mod kind;
mod leader;
mod mode;
mod names;
mod on_lost;
mod once;
mod path;
mod reading;
mod shared;
mod target;
mod test;
mod wait;

use proc_macro::TokenStream;

#[doc = include_str!("../doc/distributed_lock.md")]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::distributed_lock(args.into(), item.into()).into()
}

#[doc = include_str!("../doc/leader_only.md")]
#[proc_macro_attribute]
pub fn leader_only(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::leader_only(args.into(), item.into()).into()
}

/// Turns an `async fn` into a test with its own ZooKeeper server and client.
///
/// The server runs inside the test process and starts within milliseconds. The client takes the place of the
/// installed one, so annotated functions use it. Tests share nothing and run in parallel. The server and the
/// client end with the test, even if it panics.
///
/// ```
/// use zklock::testing::TestServer;
/// use zklock::{LockError, distributed_lock};
///
/// #[distributed_lock(path = "/orders/{id}", wait = "1s")]
/// async fn settle(id: u64) -> Result<u64, LockError> {
///     Ok(id)
/// }
///
/// #[zklock::test]
/// async fn an_order_is_settled() -> Result<(), LockError> {
///     assert_eq!(settle(7).await?, 7);
///     Ok(())
/// }
///
/// #[zklock::test(session_timeout = "3s")]
/// async fn a_busy_order_is_reported(zk: TestServer) {
///     let _rival = zk.hold("/orders/7").await;
///     assert!(settle(7).await.unwrap_err().is_contended());
/// }
/// ```
///
/// It goes on any `async fn` without `self` and without generics, with any return type that a test may have.
/// The function may take any number of arguments, in any order, whose types implement
/// `zklock::testing::FromTestServer`: `zklock::Client` is the client of the test,
/// `zklock::testing::TestServer` observes locks and injects faults, and you can implement the trait for your
/// own types. Tokio's own macros are not needed.
///
/// A task spawned with `zklock::spawn` uses the client of the test; a task spawned with `tokio::spawn` has no
/// client. Annotated functions that are not async block their thread, so they need `flavor = "multi_thread"`.
///
/// # Arguments
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `flavor = "multi_thread"` | `"current_thread"` | the runtime, as with `#[tokio::test]` |
/// | `worker_threads = n` | one per processor | the threads of that runtime |
/// | `session_timeout = "3s"` | 10 s | the timeout of the sessions of the test's clients |
/// | `crate = some::path` | `::zklock` | the path of the `zklock` crate, if it is re-exported |
///
/// Other attributes stay on the outer function: `#[ignore]`, `#[should_panic]`, `#[cfg(…)]`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test::test(args.into(), item.into()).into()
}
