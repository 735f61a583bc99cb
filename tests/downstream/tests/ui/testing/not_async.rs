#[zklock::test]
fn an_order_is_settled() {}

fn main() {}
