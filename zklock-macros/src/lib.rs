//! The attributes of zklock.
//!
//! Depend on the crate `zklock`, which re-exports them: what they expand to calls into it.

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

/// Makes an `async fn` a test that has a ZooKeeper server and a client of its own.
///
/// The server is inside of the test's process and starts within milliseconds. The client takes the place of the
/// installed one, so that annotated functions use it. Nothing is shared between tests, so that they run in
/// parallel. Both end with the test, however it ends.
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
/// It goes on any `async fn` without `self` and without generics, whose return type is one that tests may have.
/// What the function takes, in any order or not at all, are values of the types that implement
/// `zklock::testing::FromTestServer`: `zklock::Client`, the client of the test, `zklock::testing::TestServer`,
/// which does harm, and types of your own. Tokio's own macros are not needed.
///
/// Tasks of `zklock::spawn` use the client of the test, those of `tokio::spawn` have none. Functions that are not
/// async take their lock with `flavor = "multi_thread"`.
///
/// # Arguments
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `flavor = "multi_thread"` | `"current_thread"` | the runtime, as with `#[tokio::test]` |
/// | `worker_threads = n` | one for each processor | the threads of that runtime |
/// | `session_timeout = "3s"` | 10 s | the timeout of the sessions of the test's clients |
/// | `crate = some::path` | `::zklock` | where this crate is, if it is re-exported |
///
/// Other attributes stay on the outer function: `#[ignore]`, `#[should_panic]`, `#[cfg(…)]`.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test::test(args.into(), item.into()).into()
}
