use zklock::leader_only;

#[leader_only(otherwise = 0)]
async fn sweep() -> u64 {
    7
}

fn main() {}
