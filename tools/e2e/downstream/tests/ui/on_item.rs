mod on_impl_block {
    use zklock::distributed_lock;

    struct Settle;

    #[distributed_lock(path = "/orders")]
    impl Settle {}
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

fn main() {}
