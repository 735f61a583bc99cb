use zklock::leader_only;

#[leader_only]
async fn sweep() -> u64 {
    7
}

fn main() {}
