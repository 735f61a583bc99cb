use zklock::testing::FromTestServer;

#[zklock::test]
async fn an_order_is_settled<T: FromTestServer>(_: T, _: impl FromTestServer) {}

fn main() {}
