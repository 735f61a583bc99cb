use std::pin::Pin;

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/orders")]
fn boxed_beside_statements() -> Pin<Box<dyn Future<Output = Result<(), LockError>>>> {
    println!("settling");
    Box::pin(async move { Ok(()) })
}

#[distributed_lock(path = "/orders")]
const fn const_fn() -> Result<(), LockError> {
    Ok(())
}

#[tokio::main]
#[distributed_lock(path = "/orders")]
async fn made_synchronous() -> Result<(), LockError> {
    Ok(())
}

#[leader_only]
extern "C" fn leader_extern_fn() {}

fn main() {}
