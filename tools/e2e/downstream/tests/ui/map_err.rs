use zklock::{LockError, distributed_lock, leader_only};

struct Status;

#[distributed_lock(path = "/a", map_err = "Status")]
async fn map_err_quoted() -> Result<(), Status> {
    Ok(())
}

#[distributed_lock(path = "/a", map_err = Status::from(error))]
async fn map_err_of_a_call() -> Result<(), Status> {
    Ok(())
}

#[distributed_lock(path = "/a", map_err)]
async fn map_err_without_a_value() -> Result<(), Status> {
    Ok(())
}

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

#[distributed_lock(path = "/a", skip, map_err = |error| error.to_string())]
fn map_err_of_unit() -> () {}

#[distributed_lock(path = "/a", name = settle)]
async fn name_unquoted() -> Result<(), LockError> {
    Ok(())
}

#[leader_only(name = "")]
async fn name_empty() {}

fn main() {}
