//! `Mutex` and Curator's `InterProcessMutex`; `ExclusiveMutex` and Curator's `InterProcessSemaphoreMutex`.

use std::time::Duration;

use rstest::rstest;
use zklock::{Client, LockError, MutexGuard, Participant};

use crate::contention::{Contest, Turn};
use crate::support::{Space, soon};

use self::Recipe::{Exclusive, Mutex};

const PATH: &str = "/ledger";
/// The parent of the contenders for the permit of an `ExclusiveMutex`.
const GATE: &str = "/ledger/locks";
/// The parent of the permit.
const PERMIT: &str = "/ledger/leases";

/// The recipe of the lock, which has one kind of guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recipe {
    Mutex,
    Exclusive,
}

impl Recipe {
    fn name(self) -> &'static str {
        if self == Mutex { "mutex" } else { "exclusive" }
    }

    /// Returns the parent of the nodes of holders.
    fn holders(self) -> &'static str {
        if self == Mutex { PATH } else { PERMIT }
    }

    fn contest(self) -> Contest<'static> {
        Contest { recipe: self.name(), path: PATH, modes: &["exclusive"], permits: 1 }
    }

    async fn lock(self, client: &Client) -> MutexGuard {
        let locked = match self {
            Mutex => client.mutex(PATH).unwrap().lock().await,
            Exclusive => client.exclusive(PATH).unwrap().lock().await,
        };
        locked.unwrap()
    }

    async fn try_lock(self, client: &Client) -> Result<Option<MutexGuard>, LockError> {
        match self {
            Mutex => client.mutex(PATH).unwrap().try_lock().await,
            Exclusive => client.exclusive(PATH).unwrap().try_lock().await,
        }
    }

    async fn participants(self, client: &Client) -> Vec<Participant> {
        let participants = match self {
            Mutex => client.mutex(PATH).unwrap().participants().await,
            Exclusive => client.exclusive(PATH).unwrap().participants().await,
        };
        participants.unwrap()
    }

    /// Waits until a session waits behind the holder.
    async fn until_second(self, space: &Space, session_id: Option<i64>) {
        match self {
            Mutex => space.until_waits(PATH, session_id, 0).await,
            Exclusive => space.until_queued(PERMIT, 2).await,
        }
    }

    /// Waits until a session waits behind the one that waits for the holder.
    async fn until_third(self, space: &Space, session_id: Option<i64>) {
        match self {
            Mutex => space.until_waits(PATH, session_id, 1).await,
            Exclusive => space.until_waits(GATE, session_id, 0).await,
        }
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_rust_exclude_each_other(#[values(Mutex, Exclusive)] recipe: Recipe) {
    let round = async |client: &Client, turn: Turn<'_>| {
        let guard = recipe.lock(client).await;
        turn.section().await;
        guard.release().await.unwrap();
    };
    recipe.contest().run(&Space::new(), round).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_of_one_client_let_java_in_after_64_sections_at_most() {
    let space = Space::new();
    let round = async |client: &Client, turn: Turn<'_>| {
        let guard = Mutex.lock(client).await;
        turn.section().await;
        guard.release().await.unwrap();
    };
    let entered = Mutex.contest().run_with_tasks(&space, 30, round).await;
    // As long as Java competes, the sections in Rust are turns between sections in Java.
    let is_java = |name: &String| name.starts_with("java");
    let (first, last) = (entered.iter().position(is_java), entered.iter().rposition(is_java));
    let competing = &entered[first.unwrap()..=last.unwrap()];
    let runs = competing.split(is_java).map(<[_]>::len);
    assert!(runs.clone().max() > Some(1) && runs.max() <= Some(64), "{competing:?}");
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_java_to_rust_to_java_in_the_order_of_the_queue(
    #[values(Mutex, Exclusive)] recipe: Recipe,
) {
    let space = Space::new();
    let mut first = space.actor(recipe.name(), PATH).await;
    let mut third = space.actor(recipe.name(), PATH).await;
    let client = space.client("second").await;
    let session_id = client.session_id();
    first.ask("acquire exclusive").await;
    let second = tokio::spawn(async move { recipe.lock(&client).await });
    recipe.until_second(&space, session_id).await;
    third.order("acquire exclusive");
    recipe.until_third(&space, space.peer().session_id()).await;
    assert!(!second.is_finished());
    first.ask("release exclusive").await;
    let second = soon(second).await.unwrap();
    third.assert_busy();
    second.release().await.unwrap();
    third.answer().await;
    third.ask("release exclusive").await;
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_rust_to_java_to_rust_in_the_order_of_the_queue(
    #[values(Mutex, Exclusive)] recipe: Recipe,
) {
    let space = Space::new();
    let (first, last) = (space.client("first").await, space.client("third").await);
    let session_id = last.session_id();
    let mut second = space.actor(recipe.name(), PATH).await;
    let first = recipe.lock(&first).await;
    second.order("acquire exclusive");
    recipe.until_second(&space, space.peer().session_id()).await;
    let third = tokio::spawn(async move { recipe.lock(&last).await });
    recipe.until_third(&space, session_id).await;
    second.assert_busy();
    first.release().await.unwrap();
    second.answer().await;
    assert!(!third.is_finished());
    second.ask("release exclusive").await;
    soon(third).await.unwrap().release().await.unwrap();
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tries_fail_while_the_other_side_holds_and_leave_nothing(#[values(Mutex, Exclusive)] recipe: Recipe) {
    let space = Space::new();
    let client = space.client("ours").await;
    let mut theirs = space.actor(recipe.name(), PATH).await;
    let guard = recipe.try_lock(&client).await.unwrap().expect("the lock is free");
    assert!(!theirs.try_acquire("exclusive", Duration::ZERO).await);
    assert_eq!(space.children(recipe.holders()).await.len(), 1);
    guard.release().await.unwrap();
    assert!(theirs.try_acquire("exclusive", Duration::ZERO).await);
    assert!(recipe.try_lock(&client).await.unwrap().is_none());
    assert_eq!(space.children(recipe.holders()).await.len(), 1);
    theirs.ask("release exclusive").await;
    assert_eq!((space.children(GATE).await.len(), space.children(PERMIT).await.len()), (0, 0));
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_list_the_same_participants_in_the_same_order(#[values(Mutex, Exclusive)] recipe: Recipe) {
    let space = Space::new();
    let client = space.client("a holder in Rust").await;
    let mut theirs = space.actor(recipe.name(), PATH).await;
    let guard = recipe.lock(&client).await;
    theirs.order("acquire exclusive");
    space.until_queued(recipe.holders(), 2).await;
    let listed = recipe.participants(&client).await;
    let mut observer = space.actor(recipe.name(), PATH).await;
    let mut seen = observer.participants("exclusive").await;
    // Curator lists permits in no particular order.
    seen.sort_by_key(|(node, _)| node[node.len() - 10..].to_owned());
    assert_eq!(space.listed(recipe.holders(), &listed), seen);
    let holders: Vec<_> = listed.iter().filter(|one| one.path == recipe.holders()).collect();
    let sessions: Vec<_> = holders.iter().map(|one| Some(one.session_id)).collect();
    assert_eq!(sessions, [client.session_id(), space.peer().session_id()]);
    let standings: Vec<_> = holders.iter().map(|one| one.standing).collect();
    assert_eq!(standings, [zklock::Standing::Holds, zklock::Standing::Waits]);
    assert_eq!(holders[0].identity, "a holder in Rust");
    assert_eq!(holders[0].fencing_token, guard.fencing_token());
    guard.release().await.unwrap();
    theirs.answer().await;
    theirs.ask("release exclusive").await;
}
