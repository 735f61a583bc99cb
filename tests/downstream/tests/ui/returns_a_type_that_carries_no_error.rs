use zklock::distributed_lock;

struct Receipt;

#[distributed_lock(path = "/orders")]
async fn settle() -> Receipt {
    Receipt
}

fn main() {}
