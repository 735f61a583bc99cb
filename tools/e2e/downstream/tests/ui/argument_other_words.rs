use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(
    acquire_timeout = "5s",
    auto_renew = true,
    connection = "reporting",
    cron = "0 0 * * *",
    every = "15m",
    fair = true,
    held = guard,
    lease = "10s",
    lock_at_least_for = "30s",
    lock_at_most_for = "10m",
    namespace = "/billing",
    colour = "red",
    read,
    reentrant = false,
    retries = 3,
    servers = "zk1:2181",
    session_timeout = "30s",
    timeout = "5s",
    ttl = "10s",
    key = "/orders",
    resource = "/orders",
    id = "/orders",
)]
async fn other_words() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(
    role = "sweeper",
    key = "/leader",
    lease = "10s",
    interval = "1m",
    default = Ok(0),
    term = held,
    mode = read,
    retries = 3,
    deadline = "5s",
    session_timeout = "5s",
    reentrant = true,
)]
async fn leader_other_words() {}

fn main() {}
