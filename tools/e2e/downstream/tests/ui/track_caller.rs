use zklock::{LockError, distributed_lock, leader_only};

#[leader_only]
#[track_caller]
fn leader_track_caller() {}

#[track_caller]
#[distributed_lock(path = "/orders")]
fn track_caller() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
