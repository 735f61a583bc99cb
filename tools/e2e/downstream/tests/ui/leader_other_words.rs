use zklock::{LockError, leader_only};

#[leader_only(role = "sweeper")]
async fn leader_word_role() {}

#[leader_only(key = "/leader")]
async fn leader_word_key() {}

#[leader_only(lease = "10s")]
async fn leader_word_lease() {}

#[leader_only(interval = "1m")]
async fn leader_word_interval() {}

#[leader_only(default = Ok(0))]
async fn leader_word_default() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(term = held)]
async fn leader_word_term() {}

#[leader_only(mode = read)]
async fn leader_word_mode() {}

#[leader_only(retries = 3)]
async fn leader_word_retries() {}

#[leader_only(deadline = "5s")]
async fn leader_word_deadline() {}

#[leader_only(session_timeout = "5s")]
async fn leader_word_session_timeout() {}

#[leader_only(reentrant = true)]
async fn leader_word_reentrant() {}

fn main() {}
