use zklock::leader_only;

#[leader_only(on_loss = finish, path = ["/a", "/b"], "/a", guard = 7)]
async fn sweep() {}

fn main() {}
