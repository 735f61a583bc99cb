use zklock::leader_only;

#[leader_only(otherwise = 0)]
async fn sweep() -> Option<u64> {
    Some(7)
}

fn main() {}
