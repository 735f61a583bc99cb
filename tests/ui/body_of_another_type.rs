use zklock::distributed_lock;

#[distributed_lock(path = "/orders")]
async fn settle() -> std::io::Result<u64> {
    Ok("seven")
}

#[distributed_lock(path = "/orders")]
async fn forget() -> std::io::Result<u64> {
    Ok(7);
}

fn main() {}
