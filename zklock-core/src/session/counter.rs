//! Reads and sets a number in a node, in the format of Curator's `SharedCount`: four bytes, big-endian.

use crate::error::Refusal;
use crate::path::NodePath;

use super::Session;
use super::request_error::RequestError;
use super::requests::Requests;
use crate::connection::Watch;

/// A shared number, and the watch that signals a change.
pub(crate) struct Counter {
    path: NodePath,
    /// The value with which a missing node is created.
    seed: u32,
    watch: Option<Watch>,
}

impl Counter {
    pub(crate) fn new(path: NodePath, seed: u32) -> Self {
        Self { path, seed, watch: None }
    }

    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Reads the number, and creates the node if it is missing.
    pub(crate) async fn read(&self, requests: &Requests) -> Result<u32, RequestError> {
        loop {
            match requests.read(self.path.full()).await? {
                Some(read) => return decode(&read.data),
                None => create(requests, &self.path, self.seed).await?,
            }
        }
    }

    /// Waits for a change since the last read, and reads the number again. The first call does not wait.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn changed(&mut self, session: &Session) -> Result<u32, RequestError> {
        if let Some(watch) = &mut self.watch {
            watch.change().await;
            self.watch = None;
        }
        let (requests, _permit) = (session.requests(), session.bounds().requests(1).await);
        loop {
            match requests.watch_node(self.path.full()).await {
                Ok(watched) => {
                    self.watch = Some(watched.watch);
                    return decode(&watched.read.data);
                }
                Err(RequestError::NoNode) => create(requests, &self.path, self.seed).await?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sets the number, and creates the node if it is missing.
pub(crate) async fn set(requests: &Requests, path: &NodePath, count: u32) -> Result<(), RequestError> {
    loop {
        match requests.write(path.full(), &encode(count), None).await {
            Err(RequestError::NoNode) => create(requests, path, count).await?,
            outcome => return outcome,
        }
    }
}

async fn create(requests: &Requests, path: &NodePath, count: u32) -> Result<(), RequestError> {
    match requests.seed(path.full(), &encode(count)).await {
        Err(RequestError::NoNode) => requests.prepare_parents(path.parent()).await,
        outcome => outcome,
    }
}

fn encode(count: u32) -> [u8; 4] {
    count.to_be_bytes()
}

/// Decodes the number. Java's integers are signed, so a negative number is an error.
fn decode(data: &[u8]) -> Result<u32, RequestError> {
    let number = data.try_into().ok().map(i32::from_be_bytes).and_then(|number| number.try_into().ok());
    let reason = || format!("its {} bytes of data are not a number of permits", data.len());
    number.ok_or_else(|| RequestError::Refused(Refusal::Other(reason())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_four_bytes_as_java_writes_them() {
        assert_eq!(decode(&[0, 0, 1, 2]).unwrap(), 258);
        assert_eq!(decode(&encode(7)).unwrap(), 7);
        for foreign in [&b""[..], b"3", b"12345", &[0xff, 0xff, 0xff, 0xff]] {
            assert!(decode(foreign).is_err(), "{foreign:?}");
        }
    }
}
