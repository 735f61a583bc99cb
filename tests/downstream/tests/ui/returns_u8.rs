use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
async fn settle() -> u8 {
    7
}

fn main() {}
