use std::pin::Pin;

use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders")]
fn boxed_beside_statements() -> Pin<Box<dyn Future<Output = Result<(), LockError>>>> {
    println!("settling");
    Box::pin(async move { Ok(()) })
}

#[tokio::main]
#[distributed_lock(path = "/orders")]
async fn made_synchronous() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
