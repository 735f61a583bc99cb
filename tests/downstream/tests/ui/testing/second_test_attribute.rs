#[zklock::test]
#[test]
async fn an_order_is_settled() {}

fn main() {}
