//! Functions under `#[leader_only]` may return nothing, and may have any signature.

use std::fmt::Display;

use zklock::{Client, LockError, leader_only};

#[leader_only]
async fn sweep() {}

#[leader_only()]
pub async fn maybe(#[cfg(panic = "unwind")] here: u8) -> Option<u8> {
    tokio::task::yield_now().await;
    Some(here)
}

#[leader_only(path = "/reports/{region}", otherwise = skip, guard = term)]
pub async fn report<T: Display + Sync + ?Sized>(region: &T) -> std::io::Result<()> {
    if region.to_string().is_empty() {
        return Err(std::io::Error::other("no region"));
    }
    Ok(term.verify().await?)
}

#[leader_only(otherwise = wait)]
pub async fn opaque(numbers: Vec<u8>) -> Result<impl Iterator<Item = u8>, LockError> {
    Ok(numbers.into_iter())
}

#[leader_only(otherwise = error)]
pub async fn refused(numbers: Vec<u8>) -> Result<impl Iterator<Item = u8>, LockError> {
    Ok(numbers.into_iter())
}

async fn forward(name: String) -> Result<String, LockError> {
    Ok(name)
}

#[leader_only(otherwise = Ok(forward(name).await?), client = client)]
pub async fn forwarded(name: String, client: &Client) -> Result<String, LockError> {
    Ok(name)
}

#[leader_only(otherwise = (skip))]
pub async fn variable(skip: Option<u8>) -> Option<u8> {
    skip.map(|n| n + 1)
}

#[leader_only(otherwise = {
    let _ = &name;
    return None;
})]
pub async fn block(name: String) -> Option<String> {
    Some(name)
}

#[leader_only(crate = ::zklock)]
#[allow(clippy::unused_unit)]
async fn unit() -> () {}

#[leader_only(otherwise = panic!("{name}"))]
pub async fn never(name: &str) -> Option<usize> {
    Some(name.len())
}

pub fn calls() {
    drop((sweep(), unit()));
}
