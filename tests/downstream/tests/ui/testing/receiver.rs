struct Orders;

impl Orders {
    #[zklock::test]
    async fn are_settled(&self) {}
}

fn main() {}
