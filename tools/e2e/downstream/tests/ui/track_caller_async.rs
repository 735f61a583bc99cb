#![deny(ungated_async_fn_track_caller)]

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
#[track_caller]
async fn track_caller_async() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
