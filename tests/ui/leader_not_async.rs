use zklock::leader_only;

#[leader_only]
fn sweep() {}

fn main() {}
