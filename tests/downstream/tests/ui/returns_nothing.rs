use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
async fn settle() {}

fn main() {}
