//! Every lock of zklock and that of Curator at one path.

use std::time::Duration;

use rstest::rstest;
use zklock::{Client, Standing};

use crate::contention::{Contest, Turn};
use crate::face::{Held, Lock};
use crate::support::{Space, soon};

pub(crate) const PATH: &str = "/ledger";
/// The parent of the contenders for permits.
pub(crate) const GATE: &str = "/ledger/locks";
/// The parent of the permits.
pub(crate) const PERMITS: &str = "/ledger/leases";

/// Curator's recipe, as `Peer.java` names it, and the mode in which the lock is taken: for permits, how many of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind<'a> {
    recipe: &'a str,
    mode: &'a str,
}

const MUTEX: Kind<'_> = Kind { recipe: "mutex", mode: "exclusive" };
const EXCLUSIVE: Kind<'_> = Kind { recipe: "exclusive", mode: "exclusive" };
const READ: Kind<'_> = Kind { recipe: "rwlock", mode: "read" };
const WRITE: Kind<'_> = Kind { recipe: "rwlock", mode: "write" };
const ONE: Kind<'_> = Kind { recipe: "semaphore", mode: "1" };
const TWO: Kind<'_> = Kind { recipe: "semaphore", mode: "2" };
const THREE: Kind<'_> = Kind { recipe: "semaphore", mode: "3" };

impl Kind<'_> {
    /// Returns the parent of the nodes of holders.
    fn holders(self) -> &'static str {
        if matches!(self.recipe, "exclusive" | "semaphore") { PERMITS } else { PATH }
    }

    fn of_client(self, client: &Client) -> Lock {
        match (self.recipe, self.mode) {
            ("mutex", _) => Lock::Mutex(client.mutex(PATH).unwrap()),
            ("exclusive", _) => Lock::Mutex(client.exclusive(PATH).unwrap()),
            ("rwlock", "read") => Lock::Reader(client.rwlock(PATH).unwrap()),
            ("rwlock", _) => Lock::Writer(client.rwlock(PATH).unwrap()),
            (_, count) => Lock::Permits(client.semaphore(PATH, 3).unwrap(), count.parse().unwrap()),
        }
    }

    async fn lock(self, client: &Client) -> Held {
        self.of_client(client).lock().await.unwrap()
    }

    async fn try_lock(self, client: &Client) -> Option<Held> {
        self.of_client(client).try_lock().await.unwrap()
    }

    /// Waits until a session waits behind this many others.
    async fn until_behind(self, space: &Space, others: usize, session_id: Option<i64>) {
        match self {
            EXCLUSIVE if others == 1 => space.until_queued(PERMITS, 2).await,
            EXCLUSIVE => space.until_waits(GATE, session_id, others - 2).await,
            _ => space.until_waits(PATH, session_id, others - 1).await,
        }
    }
}

async fn round(client: &Client, turn: Turn<'_>) {
    if turn.mode == "downgrade" {
        let guard = client.rwlock(PATH).unwrap().write().await.unwrap();
        let guard = turn.downgrading_section(guard.downgrade()).await.unwrap();
        return guard.release().await.unwrap();
    }
    let held = Kind { recipe: turn.recipe(), mode: turn.mode }.lock(client).await;
    turn.section().await;
    held.release().await.unwrap();
}

#[rstest]
#[case::mutex("mutex", &["exclusive"], 1)]
#[case::exclusive("exclusive", &["exclusive"], 1)]
#[case::rwlock("rwlock", &["read", "write", "read", "downgrade"], 1)]
#[case::semaphore("semaphore", &["1"], 3)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_rust_exclude_each_other(
    #[case] recipe: &str,
    #[case] modes: &[&str],
    #[case] permits: usize,
) {
    Contest { recipe, path: PATH, modes, permits }.run(&Space::new(), round).await;
}

/// On each side, one contender waits for a holder, and one for a contender that waits itself.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_goes_from_java_to_rust_and_again_in_the_order_of_the_queue(
    #[values(MUTEX, EXCLUSIVE, WRITE)] kind: Kind<'static>,
) {
    let (space, mode) = (Space::new(), kind.mode);
    let mut first = space.actor(kind.recipe, PATH).await;
    let mut third = space.actor(kind.recipe, PATH).await;
    let (client, last) = (space.client("second").await, space.client("fourth").await);
    let (session_id, last_id) = (client.session_id(), last.session_id());
    first.ask(&format!("acquire {mode}")).await;
    let second = tokio::spawn(async move { kind.lock(&client).await });
    kind.until_behind(&space, 1, session_id).await;
    third.order(&format!("acquire {mode}"));
    kind.until_behind(&space, 2, space.peer().session_id()).await;
    let fourth = tokio::spawn(async move { kind.lock(&last).await });
    kind.until_behind(&space, 3, last_id).await;
    assert!(!second.is_finished());
    first.ask(&format!("release {mode}")).await;
    let second = soon(second).await.unwrap();
    third.assert_busy();
    second.release().await.unwrap();
    third.answer().await;
    assert!(!fourth.is_finished());
    third.ask(&format!("release {mode}")).await;
    soon(fourth).await.unwrap().release().await.unwrap();
}

/// A hold, a call of the other side, and whether the call gets the lock at once.
const MEETINGS: [(Kind<'static>, Kind<'static>, bool); 9] = [
    (MUTEX, MUTEX, false),
    (EXCLUSIVE, EXCLUSIVE, false),
    (READ, READ, true),
    (READ, WRITE, false),
    (WRITE, READ, false),
    (WRITE, WRITE, false),
    (ONE, TWO, true),
    (TWO, TWO, false),
    (THREE, ONE, false),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_of_either_side_keep_out_what_does_not_fit_and_tries_leave_nothing() {
    for (held, wanted, fits) in MEETINGS {
        let space = Space::new();
        let client = space.client("ours").await;
        let mut theirs = space.actor(held.recipe, PATH).await;
        // Curator takes several permits one by one, for which no time is too short.
        let within = |fits| if fits { Duration::from_secs(20) } else { Duration::ZERO };
        let ours = held.try_lock(&client).await.expect("the lock is free");
        assert_eq!(theirs.try_acquire(wanted.mode, within(fits)).await, fits, "{wanted:?} beside {held:?}");
        if fits {
            theirs.ask(&format!("release {}", wanted.mode)).await;
        }
        ours.release().await.unwrap();
        assert!(theirs.try_acquire(held.mode, within(true)).await, "{held:?} after {held:?}");
        let ours = wanted.try_lock(&client).await;
        assert_eq!(ours.is_some(), fits, "{wanted:?} beside {held:?}");
        if let Some(ours) = ours {
            ours.release().await.unwrap();
        }
        theirs.ask(&format!("release {}", held.mode)).await;
        assert_eq!((space.children(GATE).await.len(), space.children(PERMITS).await.len()), (0, 0));
        if held.holders() == PATH {
            assert!(space.children(PATH).await.is_empty(), "{held:?}");
        }
    }
}

#[rstest]
#[case::mutex(MUTEX, MUTEX, Standing::Waits)]
#[case::exclusive(EXCLUSIVE, EXCLUSIVE, Standing::Waits)]
#[case::readers(READ, READ, Standing::Holds)]
#[case::writer(READ, WRITE, Standing::Waits)]
#[case::permits(ONE, ONE, Standing::Holds)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_list_the_same_participants_in_the_same_order(
    #[case] held: Kind<'static>,
    #[case] wanted: Kind<'static>,
    #[case] standing: Standing,
) {
    let space = Space::new();
    let client = space.client("a holder in Rust").await;
    let mut theirs = space.actor(held.recipe, PATH).await;
    let guard = held.lock(&client).await;
    theirs.order(&format!("acquire {}", wanted.mode));
    space.until_queued(held.holders(), 2).await;
    if standing == Standing::Holds {
        theirs.answer().await;
    }
    let listed = held.of_client(&client).participants().await;
    let mut observer = space.actor(held.recipe, PATH).await;
    let mut seen = observer.participants(held.mode).await;
    if wanted != held {
        seen.extend(observer.participants(wanted.mode).await);
    }
    // Curator lists permits in no particular order.
    seen.sort_by_key(|(node, _)| node[node.len() - 10..].to_owned());
    assert_eq!(space.listed(held.holders(), &listed), seen);
    let holders: Vec<_> = listed.iter().filter(|one| one.path == held.holders()).collect();
    let sessions: Vec<_> = holders.iter().map(|one| Some(one.session_id)).collect();
    assert_eq!(sessions, [client.session_id(), space.peer().session_id()]);
    assert_eq!([holders[0].standing, holders[1].standing], [Standing::Holds, standing]);
    assert_eq!(holders[0].identity, "a holder in Rust");
    assert_eq!(holders[0].fencing_token, guard.fencing_token());
    guard.release().await.unwrap();
    if standing == Standing::Waits {
        theirs.answer().await;
    }
    theirs.ask(&format!("release {}", wanted.mode)).await;
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_in_rust_is_told_when_java_asks_for_its_lock(
    #[values(MUTEX, EXCLUSIVE, READ, WRITE, ONE)] kind: Kind<'static>,
) {
    let space = Space::new();
    let held = kind.lock(&space.client("ours").await).await;
    let mut theirs = space.actor(kind.recipe, PATH).await;
    let (node, _) = theirs.participants(kind.mode).await.remove(0);
    theirs.ask(&format!("revoke {node}")).await;
    soon(held.revoked()).await;
    // The holder was only asked to release.
    assert!(held.is_held());
    held.release().await.unwrap();
}

/// Curator's semaphores cannot be revoked.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_in_java_is_told_when_rust_asks_for_its_lock(
    #[values(MUTEX, READ, WRITE)] kind: Kind<'static>,
) {
    let (space, mode) = (Space::new(), kind.mode);
    let client = space.client("ours").await;
    let mut theirs = space.actor(kind.recipe, PATH).await;
    theirs.ask(&format!("revocable {mode}")).await;
    theirs.ask(&format!("acquire {mode}")).await;
    client.revoke(&kind.of_client(&client).participants().await[0]).await.unwrap();
    assert_eq!(theirs.event().await, "revoked");
    theirs.ask(&format!("release {mode}")).await;
    assert!(space.children(PATH).await.is_empty());
}
