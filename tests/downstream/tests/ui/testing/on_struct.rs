#[zklock::test]
struct Settle;

fn main() {}
