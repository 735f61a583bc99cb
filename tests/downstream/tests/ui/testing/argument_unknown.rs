#[zklock::test(flavour = "multi_thread", timeout = "3s", start_paused)]
async fn an_order_is_settled() {}

fn main() {}
