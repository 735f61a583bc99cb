use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
struct Settle;

fn main() {}
