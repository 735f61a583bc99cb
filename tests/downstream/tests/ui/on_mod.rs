use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
mod orders {}

fn main() {}
