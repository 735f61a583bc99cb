use zklock::leader_only;

#[leader_only(on_lost = "finish")]
async fn sweep() {}

fn main() {}
