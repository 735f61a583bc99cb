use zklock::leader_only;

#[leader_only]
struct Sweeper;

fn main() {}
