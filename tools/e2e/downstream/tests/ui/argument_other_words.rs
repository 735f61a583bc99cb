use zklock::{LockError, distributed_lock};

#[distributed_lock(path = "/orders", acquire_timeout = "5s")]
async fn word_acquire_timeout() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", auto_renew = true)]
async fn word_auto_renew() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", connection = "reporting")]
async fn word_connection() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", cron = "0 0 * * *")]
async fn word_cron() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", every = "15m")]
async fn word_every() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", fair = true)]
async fn word_fair() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", held = guard)]
async fn word_held() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", lease = "10s")]
async fn word_lease() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", lock_at_least_for = "30s")]
async fn word_lock_at_least_for() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", lock_at_most_for = "10m")]
async fn word_lock_at_most_for() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", namespace = "/billing")]
async fn word_namespace() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", colour = "red")]
async fn word_nothing_like_it() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", read)]
async fn word_read() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", reentrant = false)]
async fn word_reentrant() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", retries = 3)]
async fn word_retries() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", servers = "zk1:2181")]
async fn word_servers() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", session_timeout = "30s")]
async fn word_session_timeout() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", timeout = "5s")]
async fn word_timeout() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders", ttl = "10s")]
async fn word_ttl() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(key = "/orders")]
async fn word_key() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(resource = "/orders")]
async fn word_resource() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(id = "/orders")]
async fn word_id() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
