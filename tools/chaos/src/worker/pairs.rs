//! Tasks that take two of three mutexes as one, and change a file under each.

use crate::history::Kind;
use zklock::Member;

use super::store::{read_file, write_file};
use super::task::Task;

const LOCKS: [&str; 3] = ["/pair-a", "/pair-b", "/pair-c"];

pub(super) async fn run(mut task: Task) {
    while !task.is_stopped() {
        let left_out = task.rng.usize(..LOCKS.len());
        let pair: Vec<_> =
            (0..LOCKS.len()).filter(|lock| *lock != left_out).map(|lock| LOCKS[lock]).collect();
        let calls = task.asks_all(&pair, Kind::Mutex);
        let time = task.work();
        let locks =
            task.ways.client.multi(pair.iter().copied().map(Member::mutex)).expect("the paths are valid");
        if let Some(guard) = calls.wait(task.patience(), locks.lock()).await {
            let tokens: Vec<_> = pair
                .iter()
                .map(|lock| guard.fencing_token(lock).expect("the guard has each member"))
                .collect();
            let body = async {
                for (member, lock) in pair.iter().enumerate() {
                    read_file(&calls, member, &lock[1..]);
                }
                calls.work(time).await;
                for (member, lock) in pair.iter().enumerate() {
                    write_file(&calls, member, &lock[1..]);
                }
            };
            calls.hold(guard, &tokens, body).await;
        }
        task.pause().await;
    }
}
