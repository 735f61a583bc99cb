mod leader_on_struct {
    use zklock::leader_only;

    #[leader_only]
    struct Sweeper;
}

mod on_impl_block {
    use zklock::distributed_lock;

    struct Settle;

    #[distributed_lock(path = "/orders")]
    impl Settle {}
}

mod on_trait_method_without_body {
    use zklock::{LockError, distributed_lock};

    trait Settle {
        #[distributed_lock(path = "/orders")]
        async fn settle(&self) -> Result<(), LockError>;
    }
}

mod leader_on_trait_method_without_body {
    use zklock::leader_only;

    trait Sweep {
        #[leader_only]
        fn sweep(&self);
    }
}

mod on_macro {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    macro_rules! settle {
        () => {};
    }
}

mod on_use {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    use std::fmt;
}

fn main() {}
