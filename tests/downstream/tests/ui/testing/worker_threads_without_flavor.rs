#[zklock::test(worker_threads = 2)]
async fn an_order_is_settled() {}

fn main() {}
