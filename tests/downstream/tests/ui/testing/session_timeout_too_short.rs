#[zklock::test(session_timeout = "10ms")]
async fn an_order_is_settled() {}

fn main() {}
