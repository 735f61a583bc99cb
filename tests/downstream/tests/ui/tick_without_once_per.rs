use zklock::leader_only;

#[leader_only(tick = "/ticks/sweep")]
async fn sweep() {}

fn main() {}
