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

mod on_mod {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    mod orders {}
}

mod on_struct {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    struct Settle;
}

mod on_trait_method_without_body {
    use zklock::{LockError, distributed_lock};

    trait Settle {
        #[distributed_lock(path = "/orders")]
        async fn settle(&self) -> Result<(), LockError>;
    }
}

mod leader_on_impl_block {
    use zklock::leader_only;

    #[leader_only]
    impl super::Sweeper {}
}

mod leader_on_mod {
    use zklock::leader_only;

    #[leader_only]
    mod sweepers {}
}

mod leader_on_trait_method_without_body {
    use zklock::leader_only;

    trait Sweep {
        #[leader_only]
        fn sweep(&self);
    }
}

mod on_const {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    const ORDERS: u8 = 7;
}

mod on_enum {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    enum Settle {}
}

mod on_extern_block {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    unsafe extern "C" {}
}

mod on_macro {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    macro_rules! settle {
        () => {};
    }
}

mod on_static {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    static ORDERS: u8 = 7;
}

mod on_trait {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    trait Settle {}
}

mod on_type_alias {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    type Settle = u8;
}

mod on_use {
    use zklock::distributed_lock;

    #[distributed_lock(path = "/orders")]
    use std::fmt;
}

struct Sweeper;

fn main() {}
