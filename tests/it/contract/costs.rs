//! The requests that locks cost which a call enters again, counted by a server of the test's own.

use rstest_reuse::apply;
use zklock::LockError;
use zklock_testkit::wire::Opcode;

use super::face::Face;
use super::templates::every_reentrant_lock;
use crate::requests::{PATIENCE, quiet_client, quiet_proxied, requests};
use crate::support::{Server, failed, until};

/// The requests of a free lock at a path that nobody has used, and then again and again: all of them, and how many are
/// transactions, creates and deletes.
const NEW: [(u64, [u64; 3]); 4] = [(2, [1, 0, 1]), (4, [0, 1, 1]), (2, [0, 1, 1]), (2, [0, 1, 1])];
/// Those at a path that another client has used.
const MET: [(u64, [u64; 3]); 4] = [(4, [1, 1, 1]), (4, [0, 1, 1]), (2, [0, 1, 1]), (2, [0, 1, 1])];

#[apply(every_reentrant_lock)]
async fn free_lock_costs_two_requests_at_a_new_path_and_again_and_nothing_inside(face: Face) {
    let server = Server::start_granting(PATIENCE);
    let ((proxy, client), other) = (quiet_proxied(&server).await, quiet_client(&server).await);
    // This creates the parents, too.
    face.of(&other, "/cost/met").take().await.release().await.unwrap();
    let counted = || [Opcode::MULTI, Opcode::CREATE2, Opcode::DELETE].map(|opcode| proxy.requests(opcode));
    let members = if face == Face::Multi { 2 } else { 1 };
    for (path, costs) in [("/cost/new", NEW), ("/cost/met", MET)] {
        let lock = face.of(&client, path);
        for (cost, each) in costs {
            let before = counted();
            let free = async { lock.lock().await.unwrap().release().await.unwrap() };
            let (all, cost) = (requests(&server, free).await, members * cost);
            // On a busy machine, it may hold the lock for so long that it looks around.
            assert!((cost..=cost + members).contains(&all), "{path}: {all} requests instead of {cost}");
            let sent = [0, 1, 2].map(|index| counted()[index] - before[index]);
            assert_eq!(sent, each.map(|count| members * count), "{path}");
        }
        let mut least = u64::MAX;
        for _ in 0..20 {
            let free = async { lock.lock().await.unwrap().release().await.unwrap() };
            least = least.min(requests(&server, free).await);
        }
        // One of many uses is short on any machine, but for the first of several members.
        assert!((2 * members..3 * members).contains(&least), "{path}: {least} requests");
    }
    let lock = face.of(&client, "/cost/new");
    let lists = proxy.replies(Opcode::GET_CHILDREN);
    let guard = lock.lock().await.unwrap();
    let looks = async || proxy.replies(Opcode::GET_CHILDREN) >= lists + members;
    until(looks, "the holder looks around").await;
    let (reader, writer) = (Face::Reader.of(&client, "/cost/new"), Face::Writer.of(&client, "/cost/new"));
    let again = guard.scope(async {
        for _ in 0..10 {
            lock.lock().await.unwrap().release().await.unwrap();
            match face {
                Face::Writer => reader.lock().await.unwrap().release().await.unwrap(),
                Face::Reader => {
                    assert!(matches!(failed(writer.lock().await), LockError::Upgrade { .. }));
                    assert!(matches!(failed(writer.try_lock().await), LockError::Upgrade { .. }));
                }
                _ => {}
            }
        }
    });
    assert_eq!(requests(&server, again).await, 0);
    guard.release().await.unwrap();
}

#[rstest::rstest]
#[tokio::test]
async fn try_that_finds_another_holder_costs_three_requests(
    #[values(Face::Mutex, Face::Reader, Face::Writer)] face: Face,
) {
    let server = Server::start_granting(PATIENCE);
    let holder = face.rival().of(&quiet_client(&server).await, "/cost");
    let other = face.of(&quiet_client(&server).await, "/cost");
    other.take().await.release().await.unwrap();
    let guard = holder.take().await;
    let own = holder.participants().await.remove(0).node;
    // Contenders that arrive make the holder watch its own node, once.
    let watched = async || {
        assert!(other.try_lock().await.unwrap().is_none());
        server.four_letter("wchp").unwrap().contains(&own)
    };
    until(watched, "the holder watches").await;
    let tried = async { assert!(other.try_lock().await.unwrap().is_none()) };
    assert_eq!(requests(&server, tried).await, 3);
    guard.release().await.unwrap();
}
