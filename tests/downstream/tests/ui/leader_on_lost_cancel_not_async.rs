use zklock::leader_only;

#[leader_only(on_lost = cancel)]
fn sweep() {}

fn main() {}
