use zklock::{distributed_lock, leader_only};

struct Status;

#[distributed_lock(path = "/a", map_err = |_| 7)]
async fn map_err_to_another_type() -> Result<(), Status> {
    Ok(())
}

#[distributed_lock(path = "/a", map_err = from_text)]
async fn map_err_from_another_type() -> Result<(), Status> {
    Ok(())
}

fn from_text(_: String) -> Status {
    Status
}

#[distributed_lock(path = "/a")]
async fn map_err_forgotten() -> Result<(), Status> {
    Ok(())
}

#[distributed_lock(path = "/a", map_err = |_| Status::of(text))]
async fn map_err_uses_what_the_body_consumes(text: String) -> Result<(), Status> {
    drop(text);
    Ok(())
}

impl Status {
    fn of(_: String) -> Self {
        Self
    }
}

#[leader_only(map_err = |_| Status)]
async fn map_err_without_a_result() -> Option<u8> {
    None
}

#[leader_only(map_err = |_| Status)]
async fn map_err_without_a_return_type() {}

fn main() {}
