use zklock::leader_only;

#[leader_only(otherwise = error)]
async fn sweep() {}

fn main() {}
