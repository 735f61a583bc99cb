use zklock::leader_only;

#[leader_only(once_per = minutes)]
async fn sweep(minutes: u64) {}

fn main() {}
