use std::pin::Pin;

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
fn settle() -> Pin<Box<dyn Future<Output = Result<(), LockError>>>> {
    println!("settling");
    Box::pin(async move { Ok(()) })
}

fn main() {}
