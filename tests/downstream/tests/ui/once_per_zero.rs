use zklock::leader_only;

#[leader_only(once_per = "0s")]
async fn sweep() {}

fn main() {}
