use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/invoices", once_per = 15)]
async fn once_per_integer() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(once_per = minutes)]
async fn once_per_of_another_type(minutes: u64) {}

#[distributed_lock(path = "/invoices", once_per = "15m")]
async fn once_per_returns_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(otherwise = error, once_per = "15m")]
async fn leader_once_per_returns_no_value_to_skip() -> Result<u64, LockError> {
    Ok(7)
}

#[leader_only(once_per = "0s")]
async fn once_per_zero() {}

#[distributed_lock(path = ["/a", "/b"], once_per = "15m", tick = ["/ticks/a", "/ticks/b"])]
async fn tick_several() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(tick = "/ticks/sweep")]
async fn tick_without_once_per() {}

#[leader_only(once_per = true)]
async fn once_per_bool() {}

#[leader_only(once_per = 1.5)]
async fn once_per_float() {}

#[leader_only(once_per = -15)]
async fn once_per_negative() {}

#[leader_only(once_per = "hourly")]
async fn once_per_not_a_duration() {}

#[leader_only(once_per = "15m", once_per = "30m")]
async fn once_per_twice() {}

#[leader_only(once_per = 15m)]
async fn once_per_unquoted() {}

#[leader_only(once_per = 0)]
async fn once_per_zero_integer() {}

#[leader_only(once_per = 15, tick = "/ticks/sweep")]
async fn tick_beside_a_period_that_is_none() {}

#[leader_only(once_per = "15m", tick = node)]
async fn tick_not_text(node: u64) {}

#[leader_only(once_per = "15m", tick = "ticks/sweep")]
async fn tick_relative() {}

#[leader_only(once_per = "15m", tick = /ticks/sweep)]
async fn tick_unquoted() {}

#[distributed_lock(path = "/invoices", tick = "/ticks/invoices")]
async fn lock_tick_without_once_per() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(once_per = "15m", tick = "/ticks/{shopp}")]
async fn tick_of_a_misspelled_argument(shop: u64) {}

struct Ledger {
    shopp: u64,
}

mod tick_of_a_field_without_self {
    use zklock::leader_only;

    impl super::Ledger {
        #[leader_only(once_per = "15m", tick = "/ticks/{shopp}")]
        async fn sweep(&self, shop: u64) {}
    }
}

fn main() {}
