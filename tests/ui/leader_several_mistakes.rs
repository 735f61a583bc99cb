use zklock::leader_only;

#[leader_only(on_lost = finish, path = ["/a", "/b"], "/a", guard = 7)]
async fn sweep() {}

fn main() {}
