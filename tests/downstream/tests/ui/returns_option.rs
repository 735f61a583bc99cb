use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
async fn settle() -> Option<u64> {
    None
}

fn main() {}
