//! Tasks that read and write under a read-write lock.

use crate::history::Kind;

use super::task::Task;

const LOCK: &str = "/table";

/// Reads in three of four calls.
pub(super) async fn run(mut task: Task) {
    while !task.is_stopped() {
        let (choice, time) = (task.rng.u8(..4), task.work());
        let lock = task.ways.client.rwlock(LOCK).expect("the path is valid");
        if choice == 0 {
            let calls = task.asks(LOCK, Kind::Write);
            if let Some(guard) = calls.wait(task.patience(), lock.write()).await {
                let tokens = [guard.fencing_token()];
                calls.hold(guard, &tokens, calls.work(time)).await;
            }
        } else {
            let calls = task.asks(LOCK, Kind::Read);
            if let Some(guard) = calls.wait(task.patience(), lock.read()).await {
                let tokens = [guard.fencing_token()];
                calls.hold(guard, &tokens, calls.work(time)).await;
            }
        }
        task.pause().await;
    }
}
