#[zklock::test(session_timeout = "3 parsecs")]
async fn an_order_is_settled() {}

fn main() {}
