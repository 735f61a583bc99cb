#[zklock::test(session_timeout = "3s", session_timeout = "4s")]
async fn an_order_is_settled() {}

fn main() {}
