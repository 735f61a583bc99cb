//! Tasks that take permits of a semaphore, one or several.

use crate::history::Kind;

use super::task::Task;

const LOCK: &str = "/permits";
/// The number of permits of the whole fleet.
const PERMITS: u32 = 3;

pub(super) async fn run(mut task: Task) {
    while !task.is_stopped() {
        let n = if task.rng.u8(..4) == 0 { 2 } else { 1 };
        let (calls, time) = (task.asks(LOCK, Kind::Permits { n, of: PERMITS }), task.work());
        let semaphore = task.ways.client.semaphore(LOCK, PERMITS).expect("the path is valid");
        let acquiring =
            async { if n == 1 { semaphore.acquire().await } else { semaphore.acquire_many(n).await } };
        if let Some(guard) = calls.wait(task.patience(), acquiring).await {
            let tokens = [guard.fencing_token()];
            calls.hold(guard, &tokens, calls.work(time)).await;
        }
        task.pause().await;
    }
}
