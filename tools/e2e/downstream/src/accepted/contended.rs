//! Functions that say what a call returns which does not get the lock, or that map its error.

use zklock::{LockError, distributed_lock, leader_only};

#[distributed_lock(path = "/a", otherwise = panic!("{name}"))]
pub fn diverges(name: String) -> Result<String, LockError> {
    Ok(name)
}

#[distributed_lock(path = "/a", otherwise = (skip))]
pub async fn variable(skip: Result<u8, LockError>) -> Result<u8, LockError> {
    skip.map(|n| n + 1)
}

/// The status of a response.
#[derive(Debug)]
pub struct Status(pub String);

impl Status {
    fn unavailable(error: LockError) -> Self {
        Self(error.to_string())
    }
}

/// A service.
pub struct Service {
    name: String,
}

impl Service {
    #[distributed_lock(path = "/a/{self.name}", map_err = Status::unavailable, otherwise = |error| Err(Status::unavailable(error)))]
    pub async fn answer(&self) -> Result<u8, Status> {
        Err(Status(self.name.clone()))
    }

    #[distributed_lock(path = "/a", map_err = |error| Self::failed(&self.name, &error))]
    pub fn answer_here(&self) -> Result<u8, String> {
        Err(self.name.clone())
    }

    fn failed(name: &str, error: &LockError) -> String {
        format!("{name}: {error}")
    }

    #[leader_only(map_err = Status::unavailable, otherwise = |_| Ok(0))]
    pub async fn lead(&mut self) -> Result<u8, Status> {
        self.name.clear();
        Ok(1)
    }
}

#[distributed_lock(path = "/a/{id}", map_err = |error| format!("{name} {id}: {error}"), once_per = "1m")]
pub async fn only_the_error_uses_the_name(name: String, id: u64) -> Result<(), String> {
    Ok(())
}

#[leader_only(map_err = |error| format!("{name}: {error}"), otherwise = error)]
pub fn only_the_error_of_the_leader_uses_the_name(name: String) -> Result<(), String> {
    Ok(())
}

const MOST: u32 = 5;

#[distributed_lock(path = "/a/{region}", permits = count + 1, of = MOST, skip)]
pub fn some(region: &str, count: u32) {}

#[leader_only(otherwise = Ok(found?.len()))]
pub fn redirected(found: Result<&str, LockError>) -> Result<usize, LockError> {
    found.map(str::len)
}

#[leader_only(otherwise = {
    let _ = &name;
    return None;
})]
pub async fn block(name: String) -> Option<String> {
    Some(name)
}

#[leader_only()]
pub async fn unit() -> () {}
