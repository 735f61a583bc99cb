use std::pin::Pin;

use zklock::leader_only;

#[leader_only]
fn sweep() -> Pin<Box<impl Future<Output = ()>>> {
    Box::pin(async move {})
}

fn main() {}
