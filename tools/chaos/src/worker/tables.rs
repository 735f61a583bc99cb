//! Tasks that read and write two cells under a read-write lock. Readers must find the cells alike.

use std::thread::sleep;
use std::time::Duration;

use crate::history::{Kind, Outcome, Way};

use crate::clock;

use super::task::{Calls, Task};
use super::writing::{Read, Writing, read};

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
                let body = async {
                    calls.work(time).await;
                    write_both(&calls);
                };
                calls.hold(guard, &tokens, body).await;
            }
        } else {
            let calls = task.asks(LOCK, Kind::Read);
            if let Some(guard) = calls.wait(task.patience(), lock.read()).await {
                let tokens = [guard.fencing_token()];
                let body = async {
                    calls.work(time).await;
                    read_both(&calls);
                };
                calls.hold(guard, &tokens, body).await;
            }
        }
        task.pause().await;
    }
}

/// Writes one cell after the other, without an await at which the body could end.
fn write_both(calls: &Calls) {
    let writing = Writing::begin(calls, 0, RESOURCE, Way::Plain);
    let written = calls.places().cells(RESOURCE).and_then(|cells| {
        cells.write(0, writing.value())?;
        sleep(BETWEEN);
        cells.write(1, writing.value())
    });
    writing.ends(if written.is_ok() { Outcome::Applied } else { Outcome::Unknown }, None);
}

fn read_both(calls: &Calls) {
    let began = clock::now();
    let cells = calls.places().cells(RESOURCE).and_then(|cells| {
        let first = cells.read(0)?;
        sleep(BETWEEN);
        Ok(vec![first, cells.read(1)?])
    });
    read(calls, 0, RESOURCE, began, Read::of(cells.expect("the file has whole values")));
}

const RESOURCE: &str = "table";
/// The time between the accesses to the two cells.
const BETWEEN: Duration = Duration::from_millis(2);
