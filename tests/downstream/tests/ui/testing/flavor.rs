#[zklock::test(flavor = "multi")]
async fn an_order_is_settled() {}

fn main() {}
