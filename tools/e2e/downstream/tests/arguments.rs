//! The arguments of annotated functions are dropped under the lock, in the order of a plain function.

#![allow(
    clippy::too_many_arguments,
    clippy::toplevel_ref_arg,
    reason = "one function has arguments of every kind"
)]

use std::cell::RefCell;
use std::mem::take;

use zklock::testing::TestServer;
use zklock::{LockError, distributed_lock, leader_only};

thread_local! {
    static DROPPED: RefCell<Vec<Dropped>> = const { RefCell::new(Vec::new()) };
}

#[derive(Debug, PartialEq, Eq)]
struct Dropped {
    name: &'static str,
    is_under_the_lock: bool,
}

/// A value that notes when it is dropped.
struct Part(&'static str);

impl Drop for Part {
    fn drop(&mut self) {
        let dropped =
            Dropped { name: self.0, is_under_the_lock: zklock::current().is_some_and(|held| held.is_held()) };
        DROPPED.with_borrow_mut(|all| all.push(dropped));
    }
}

struct Pair {
    first: Part,
    #[expect(dead_code, reason = "the patterns leave it out")]
    second: Part,
}

/// A value that patterns cannot move parts out of.
struct Whole {
    number: u8,
    _part: Part,
}

impl Drop for Whole {
    fn drop(&mut self) {}
}

/// Defines a plain function, and one with the same arguments under an attribute.
macro_rules! twins {
    ($(#[$attr:meta])+ $plain:ident, $annotated:ident, [$($form:tt)+] $args:tt $body:block) => {
        #[allow(unused_variables, reason = "only the attribute uses some")]
        $($form)+ $plain $args -> Result<u8, LockError> $body
        $(#[$attr])+
        $($form)+ $annotated $args -> Result<u8, LockError> $body
    };
}

twins! {
    #[distributed_lock(path = "/plain")]
    all, all_under_a_lock, [async fn](
        named: Part,
        _: Part,
        _unused: Part,
        (left, _): (Part, Part),
        mut changed: Part,
        Pair { first, .. }: Pair,
        [head, .., _]: [Part; 3],
        Whole { number, .. }: Whole,
        ref borrowed: Part,
        (Ok(either) | Err(either)): Result<Part, Part>,
        opaque: impl Sized,
    ) {
        let _local = Part("local");
        let _parts = (&named, &left, &first, &head, &either, &opaque, borrowed.0);
        changed.0 = "changed again";
        Ok(number)
    }
}

twins! {
    #[distributed_lock(path = "/parts/{left.0}/{first.0}/{number}", wait = "5s")]
    parts, parts_in_the_path, [async fn](
        _named: Part,
        (left, _unused): (Part, Part),
        Pair { first, .. }: Pair,
        Whole { number, .. }: Whole,
        _: Part,
    ) {
        let _local = Part(first.0);
        drop(left);
        Ok(number)
    }
}

twins! {
    #[distributed_lock(path = "/parts/{left.0}/{first.0}", wait = "5s", on_lost = finish)]
    blocking, blocking_under_a_lock, [fn](
        named: Part,
        (left, mut name): (Part, Part),
        _: Part,
        Pair { first, .. }: Pair,
        _unused: Part,
    ) {
        let _local = Part(named.0);
        name.0 = "renamed";
        let _renamed = name.0;
        Ok(left.0.len() as u8)
    }
}

twins! {
    #[leader_only(path = "/parts/{left.0}", otherwise = wait)]
    follows, leads, [async fn](named: Part, (left, _): (Part, Part), _: Part, _unused: Part) {
        let _local = Part(named.0);
        Ok(7)
    }
}

twins! {
    #[distributed_lock(path = "/read-below")]
    #[tracing::instrument(skip(left, right, named), fields(name = left.0))]
    uninstrumented, instrumented, [async fn](named: Part, (left, right): (Part, Part), _: Part) {
        let _local = Part(named.0);
        drop((left, right));
        Ok(7)
    }
}

impl Part {
    async fn plain(self, named: Self, _: Self) -> Result<u8, LockError> {
        drop(named);
        Ok(7)
    }

    #[distributed_lock(path = "/parts/{self.0}")]
    async fn locked(self, named: Self, _: Self) -> Result<u8, LockError> {
        drop(named);
        Ok(7)
    }
}

fn dropped() -> Vec<Dropped> {
    DROPPED.with_borrow_mut(take)
}

/// Checks what an annotated call has dropped, after the plain call dropped the same.
#[track_caller]
fn check(plain: Vec<Dropped>) {
    let annotated = dropped();
    assert!(annotated.iter().all(|dropped| dropped.is_under_the_lock), "{annotated:?}");
    let names = |dropped: &[Dropped]| dropped.iter().map(|dropped| dropped.name).collect::<Vec<_>>();
    assert_eq!(names(&annotated), names(&plain));
    assert!(plain.len() >= 3, "{plain:?}");
}

/// Calls both functions with new arguments.
macro_rules! check {
    ($plain:expr, $annotated:expr, ($($args:tt)*) $($awaited:tt)*) => {
        $plain($($args)*) $($awaited)* .unwrap();
        let plain = dropped();
        $annotated($($args)*) $($awaited)* .unwrap();
        check(plain);
    };
}

fn pair() -> Pair {
    Pair { first: Part("first"), second: Part("second") }
}

fn whole() -> Whole {
    Whole { number: 7, _part: Part("whole") }
}

#[zklock::test]
async fn arguments_are_dropped_under_the_lock_in_the_order_of_a_plain_function(_zk: TestServer) {
    check!(
        all,
        all_under_a_lock,
        (
            Part("named"),
            Part("ignored"),
            Part("unused"),
            (Part("left"), Part("right")),
            Part("changed"),
            pair(),
            [Part("head"), Part("middle"), Part("tail")],
            whole(),
            Part("borrowed"),
            Err(Part("either")),
            Part("opaque"),
        )
            .await
    );
    check!(Part::plain, Part::locked, (Part("self"), Part("named"), Part("ignored")).await);
}

#[zklock::test]
async fn an_argument_of_which_the_path_names_a_part_is_dropped_as_a_whole(_zk: TestServer) {
    check!(
        parts,
        parts_in_the_path,
        (Part("named"), (Part("left"), Part("right")), pair(), whole(), Part("ignored"),).await
    );
}

#[zklock::test(flavor = "multi_thread")]
async fn arguments_of_a_blocking_function_are_dropped_under_the_lock(_zk: TestServer) {
    let left = || (Part("left"), Part("right"));
    check!(blocking, blocking_under_a_lock, (Part("named"), left(), Part("ignored"), pair(), Part("unused")));
}

#[zklock::test]
async fn arguments_are_dropped_while_the_replica_leads(_zk: TestServer) {
    let left = || (Part("left"), Part("right"));
    check!(follows, leads, (Part("named"), left(), Part("ignored"), Part("unused")).await);
}

#[zklock::test]
async fn another_attribute_reads_the_names_of_arguments_as_they_are_written(_zk: TestServer) {
    let left = || (Part("left"), Part("right"));
    check!(uninstrumented, instrumented, (Part("named"), left(), Part("ignored")).await);
}

#[distributed_lock(path = "/names/{order.0}", otherwise = Ok(name))]
async fn named((name, order): (String, Part)) -> Result<String, LockError> {
    Ok(order.0.to_owned())
}

#[zklock::test]
async fn a_value_in_place_of_the_body_may_be_a_part_of_an_argument(zk: TestServer) {
    let call = || named(("left".to_owned(), Part("right")));
    assert_eq!(call().await.unwrap(), "right");
    let _rival = zk.hold("/names/right").await;
    assert_eq!(call().await.unwrap(), "left");
}

/// The body lends what it owns to an argument.
#[distributed_lock(path = "/lent/{parts.len()}")]
async fn lent(mut parts: Vec<&str>, #[cfg(any())] gone: u8) -> Result<String, LockError> {
    let number = parts.len().to_string();
    parts.push(&number);
    Ok(parts.join("-"))
}

#[distributed_lock(path = "/lent", wait = "5s")]
fn lent_while_blocking((mut parts, _): (Vec<&str>, u8)) -> Result<String, LockError> {
    let number = parts.len().to_string();
    parts.push(&number);
    Ok(parts.join("-"))
}

#[zklock::test(flavor = "multi_thread")]
async fn a_body_lends_its_values_to_an_argument(_zk: TestServer) {
    assert_eq!(lent(vec!["a"]).await.unwrap(), "a-1");
    assert_eq!(lent_while_blocking((vec!["a"], 7)).unwrap(), "a-1");
}

#[distributed_lock(path = "/first-case/{id}")]
async fn with_overlapping_cases(
    ((Some(id), _) | (_, id)): (Option<u64>, u64),
) -> Result<(u64, String), LockError> {
    Ok((id, zklock::current().expect("the lock is held").path().to_owned()))
}

#[zklock::test]
async fn the_path_has_the_names_of_the_first_case_that_matches(_zk: TestServer) {
    assert_eq!(with_overlapping_cases((Some(1), 2)).await.unwrap(), (1, "/first-case/1".into()));
    assert_eq!(with_overlapping_cases((None, 2)).await.unwrap(), (2, "/first-case/2".into()));
}
