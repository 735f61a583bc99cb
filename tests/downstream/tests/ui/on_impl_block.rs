use zklock::distributed_lock;

struct Settle;

#[distributed_lock(path = "/orders")]
impl Settle {}

fn main() {}
