//! The attributes of zklock.
//!
//! Depend on the crate `zklock`, which re-exports them: what they expand to calls into it.

mod args;
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
mod path;
mod reading;
mod target;
mod test;
mod wait;

use proc_macro::TokenStream;

/// Runs an `async fn` while it holds a distributed lock.
///
/// ```no_run
/// # use zklock::{LockError, distributed_lock};
/// # struct Order { id: u64 }
/// # struct Receipt;
/// #[distributed_lock(path = "/orders/{order.id}", wait = "5s")]
/// async fn settle(order: &Order) -> Result<Receipt, LockError> {
///     // One call per order runs this at a time, in all processes.
///     Ok(Receipt)
/// }
/// ```
///
/// It goes on any `async fn` with a body: free functions and methods, with every receiver, generics, patterns
/// and `impl Trait`, and in the `impl` of an `#[async_trait]`. The function returns a `Result<T, E>` where
/// `E: From<LockError>`, because the lock may not be had in time, or be lost. The body never runs without it.
///
/// # Arguments
///
/// Values are expressions over the arguments of the function.
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `path = "/orders/{expr}"` | required | the node of the lock, below the namespace of the client |
/// | `path = expr` | | the same, from anything that is `AsRef<str>`; checked when the lock is taken |
/// | `path = [p1, p2]` | | several locks, all or none; each is given in one of the ways above |
/// | `mode = read`, `mode = write` | a mutex | a side of a read-write lock: readers run together, a writer alone |
/// | `wait = "5s"`, `wait = expr` | the default of the client | how long the whole acquisition may take, as text or as a `Duration` |
/// | `wait = forever` | | no limit |
/// | `client = "name"`, `client = expr` | the scoped, else the installed client | the client that takes the lock |
/// | `guard = ident` | | the name of the held lock in the body: a `&MutexGuard`, by its mode a `&ReadGuard` or a `&WriteGuard`, or for an array a `&MultiGuard` |
/// | `crate = some::path` | `::zklock` | where this crate is, if it is re-exported |
///
/// The text of a path is checked when it is compiled. Between braces stands any expression that implements
/// `Display`; what it yields is percent-encoded, and a segment of the path holds one expression at most, so
/// that different values never meet in one node. `{{` and `}}` are the braces themselves.
///
/// ```no_run
/// # use std::time::Duration;
/// # use zklock::{Client, LockError, distributed_lock};
/// struct Ledger {
///     name: String,
///     locks: Client,
/// }
///
/// impl Ledger {
///     #[distributed_lock(
///         path = "/ledgers/{self.name.to_lowercase()}/{year}",
///         wait = Duration::from_secs(30),
///         client = self.locks,
///         guard = held,
///     )]
///     async fn close(&mut self, year: u16) -> Result<(), LockError> {
///         // Applied only while the lock is held.
///         held.set_data("/closed", year.to_string()).await
///     }
/// }
/// ```
///
/// # Readers and writers
///
/// ```no_run
/// # use zklock::{LockError, distributed_lock};
/// # struct Prices;
/// #[distributed_lock(path = "/prices/{region}", mode = read)]
/// async fn quote(region: &str) -> Result<Prices, LockError> {
///     // Many calls per region run this at a time, and none of `update`.
///     Ok(Prices)
/// }
///
/// #[distributed_lock(path = "/prices/{region}", mode = write, wait = "30s")]
/// async fn update(region: &str, prices: Prices) -> Result<(), LockError> {
///     // One call per region runs this, and none of `quote`.
///     Ok(())
/// }
/// ```
///
/// Both wait in one queue, in the order in which they came. A function that writes may call one that reads, or
/// writes, at the same path, which enters the lock again without a request. One that reads may call one that
/// reads; one that writes would wait for its caller, and returns `LockError::Upgrade` at once instead.
///
/// A path is a mutex everywhere, or a read-write lock everywhere: a call that finds the other kind in front of
/// it returns `LockError::MixedRecipes`.
///
/// # Several locks
///
/// ```no_run
/// # use zklock::{LockError, distributed_lock};
/// #[distributed_lock(path = ["/accounts/{from}", "/accounts/{to}"], wait = "10s", guard = held)]
/// async fn transfer(from: u64, to: u64, amount: u64) -> Result<(), LockError> {
///     // Nobody else has either account.
///     let token = held.fencing_token(&format!("/accounts/{from}"));
///     Ok(())
/// }
/// ```
///
/// The locks are taken one by one, in the order of their paths and not in that of the array, so that functions
/// with several locks never wait for each other in a circle, as long as none of them is called while some other
/// lock is held. The wait is that of all of them together. If one is not to be had, those taken before are
/// released again, and the body does not run; if one is lost, the body is dropped and all are released. With a
/// mode, all of them are taken in that mode.
///
/// An array without paths, or with the same one twice, is refused when it is compiled; values that turn out to
/// name one path twice are a `LockError::InvalidGroup`.
///
/// # Errors of one's own
///
/// An error type of one's own has a place for what may go wrong with the lock:
///
/// ```no_run
/// # use zklock::{LockError, distributed_lock};
/// # async fn number_of(order: &str) -> std::io::Result<u64> { Ok(7) }
/// #[derive(Debug, thiserror::Error)]
/// enum SettleError {
///     #[error(transparent)]
///     Lock(#[from] LockError),
///     #[error("the order cannot be read")]
///     Unreadable(#[from] std::io::Error),
/// }
///
/// #[distributed_lock(path = "/orders/{order}")]
/// async fn settle(order: &str) -> Result<u64, SettleError> {
///     Ok(number_of(order).await?)
/// }
/// ```
///
/// # What it expands to
///
/// ```text
/// async fn settle(order: &Order) -> Result<Receipt, SettleError> {
///     let held = lock(client, path, wait).await?;
///     let output = run(&held, async move { … }).await?;
///     release(held).await;
///     output
/// }
/// ```
///
/// * The body stays where it is, so `return`, `?`, `self`, `Self` and lifetimes mean what they meant before.
/// * The path, the client and the wait are evaluated before anything is awaited.
/// * What the arguments bind is dropped before the lock is released. What they do not bind, a `_` or a `..`
///   in a pattern, and what the body does not use and does not name with a `_` in front, is dropped after it.
/// * The result of the body is kept while the lock is released. The future of the function is therefore
///   `Send` if it was before **and** its output is; `Result<T, Box<dyn Error + Send + Sync>>` is one that is.
///
/// # Cancellation and loss
///
/// Dropping the future drops the body and releases the lock, or gives up its place in the queue, in the
/// background.
///
/// When the lock is lost, the body is dropped at its next await, and the function returns `LockError::Lost`.
///
/// # Other attributes
///
/// Attributes expand from top to bottom, and each wraps what the ones above it made: the lowest is the
/// outermost.
///
/// * `#[tokio::main]` and `#[tokio::test]` make the function synchronous and stand **below** this attribute.
/// * `#[tracing::instrument]` below this attribute makes a span that includes the waiting; above it, one of
///   the body.
/// * `#[async_trait]` stands on the trait or the `impl`, and expands first. The arguments of this attribute
///   may then use the arguments of the function, but not what a pattern takes out of one.
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::distributed_lock(args.into(), item.into()).into()
}

/// Runs an `async fn` on one replica of the fleet: the one that is elected.
///
/// ```no_run
/// # use zklock::{LockError, leader_only};
/// #[leader_only]
/// async fn sweep() {
///     // The leader runs this; the others return at once.
/// }
///
/// #[leader_only(path = "/reports/{region}", otherwise = error)]
/// async fn report(region: &str) -> Result<u64, LockError> {
///     // The others return `LockError::NotLeader`.
///     Ok(7)
/// }
/// ```
///
/// It goes on any `async fn` with a body, like [`#[distributed_lock]`](macro@distributed_lock), and expands in the
/// same way. Functions at one path share one candidate of their client. The first call joins the election, and
/// waits up to two seconds for its first answer, so that a replica that is alone does not skip its first turn;
/// `zklock::leader(path)?.join().await` at start-up does both before. From then on a call asks no server. The
/// candidate stays in the election, whether or not functions are called, until the client is shut down.
///
/// # Arguments
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `path = "/x/{expr}"`, `path = expr` | `"/leader"` | the election, below the namespace of the client; see [`#[distributed_lock]`](macro@distributed_lock) |
/// | `otherwise = skip` | this one | who does not lead returns `()`, `None`, `Ok(())` or `Ok(None)`, by the return type |
/// | `otherwise = wait` | | waits without limit until it leads, and runs the body |
/// | `otherwise = error` | | returns `LockError::NotLeader` through `E` |
/// | `otherwise = expr` | | returns this value; the expression may use the arguments, `?` and `.await` |
/// | `client = "name"`, `client = expr` | the scoped, else the installed client | the client that runs |
/// | `guard = ident` | | the name of the term in the body: a `&Leadership` |
/// | `crate = some::path` | `::zklock` | where this crate is, if it is re-exported |
///
/// A value that is the name of a variable called `skip`, `wait` or `error` stands in parentheses.
///
/// ```no_run
/// # use zklock::{LockError, leader_only};
/// #[leader_only(guard = term)]
/// async fn tick(now: u64) -> Result<Option<u64>, LockError> {
///     // Applied only while this replica is in office.
///     term.set_data("/ticked", now.to_string()).await?;
///     Ok(Some(term.fencing_token().zxid()))
/// }
/// ```
///
/// # Cancellation and loss
///
/// Dropping the future drops the body, and nothing else: the replica goes on to lead.
///
/// When leadership is lost or given up, the body is dropped at its next await, and before another replica can be
/// elected. The function then returns `LockError::Lost` if it returns a `Result<_, E>` where
/// `E: From<LockError>`, and otherwise, with a warning in the log, `()` or `None`. So it does where the
/// candidate cannot run, as without a client or without permission.
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
/// Tasks of `zklock::spawn` use the client of the test, those of `tokio::spawn` have none.
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
