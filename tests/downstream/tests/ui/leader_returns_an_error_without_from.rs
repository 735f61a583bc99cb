use zklock::leader_only;

#[leader_only]
async fn sweep() -> Result<(), std::fmt::Error> {
    Ok(())
}

fn main() {}
