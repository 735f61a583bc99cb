//! Functions that are not async, with the same receivers, signatures and bodies as those that are.

use std::error::Error;
use std::fmt::Display;
use std::sync::Arc;

use zklock::{Client, LockError, distributed_lock, leader_only};

pub struct Ledger<T> {
    name: String,
    entries: Vec<T>,
}

impl<T: Clone> Ledger<T> {
    #[distributed_lock(path = "/ledger/{self.name}", guard = held)]
    pub fn first(&self) -> Result<Option<&T>, LockError> {
        let _: &zklock::MutexGuard = held;
        Ok(self.entries.first())
    }

    #[distributed_lock(path = "/ledger/{self.name}", wait = "1m 30s", on_lost = finish)]
    pub fn add(&mut self, entry: T) -> Result<&mut Self, LockError> {
        self.entries.push(entry);
        Ok(self)
    }

    #[distributed_lock(path = "/ledger/{self.name}")]
    pub fn last_mut(&mut self) -> Result<Option<&mut T>, LockError> {
        Ok(self.entries.last_mut())
    }

    #[distributed_lock(path = self.name.as_str(), mode = write)]
    pub fn shared(self: Arc<Self>, at: usize) -> Result<T, LockError> {
        Ok(self.entries[at].clone())
    }

    #[distributed_lock(path = ["/ledger/{self.name}", "/all"])]
    pub fn into_entries(mut self, more: T) -> Result<Vec<T>, LockError> {
        self.entries.push(more);
        Ok(self.entries)
    }

    #[leader_only(guard = term)]
    pub fn sweep(&mut self) {
        if term.is_leading() {
            self.entries.clear();
        }
    }
}

pub trait Settle {
    fn settle(&self) -> Result<u64, LockError>;

    #[leader_only(otherwise = error)]
    fn provided(&self) -> Result<u64, LockError> {
        self.settle()
    }
}

impl<T> Settle for Ledger<T> {
    #[distributed_lock(path = "/settle", mode = read)]
    fn settle(&self) -> Result<u64, LockError> {
        Ok(self.entries.len().try_into().unwrap_or(u64::MAX))
    }
}

#[distributed_lock(path = "/opaque/{text.len()}", wait = forever)]
pub fn opaque<F: Fn(u8) -> bool>(
    text: &str,
    keep: F,
) -> Result<impl Iterator<Item = u8> + use<F>, Box<dyn Error>> {
    let number: u8 = text.parse()?;
    if !keep(number) {
        Err("not kept")?;
    }
    if number > 7 {
        return Err(Box::new(std::fmt::Error));
    }
    Ok(0..number)
}

#[distributed_lock(path = "/patterns/{id}", client = client)]
pub fn patterns<const N: usize>(
    (mut total, _): (u64, u8),
    [id, ..]: [u64; 2],
    more: [u64; N],
    each: impl Fn(u64) -> u64,
    client: &Client,
) -> std::io::Result<impl Display> {
    total += more.into_iter().map(&each).sum::<u64>();
    Ok(total)
}

#[distributed_lock(path = "/parts")]
pub fn parts(pair: (String, Vec<u8>)) -> Result<Vec<u8>, LockError> {
    drop(pair.0);
    Ok(pair.1)
}

#[distributed_lock(path = "/boxed")]
pub fn boxed(text: &str) -> Result<Box<dyn Iterator<Item = char> + '_>, LockError> {
    Ok(Box::new(text.chars()))
}

#[allow(unsafe_code, reason = "an attribute of the function")]
#[distributed_lock(path = "/unsafe")]
pub unsafe fn trusted() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/runs")]
pub fn runs_a_future(runtime: &tokio::runtime::Runtime) -> Result<u8, LockError> {
    runtime.block_on(async { Ok(7) })
}

#[leader_only(otherwise = Ok(found?.len()))]
pub fn redirected(found: Result<&str, LockError>) -> Result<usize, LockError> {
    found.map(str::len)
}

#[leader_only(otherwise = wait, on_lost = finish)]
pub fn waits(names: &mut Vec<String>) -> Option<&mut String> {
    names.push(String::new());
    names.last_mut()
}

#[leader_only(path = "/async", on_lost = finish, guard = term)]
pub async fn finishes() -> Option<bool> {
    tokio::task::yield_now().await;
    Some(term.is_leading())
}

#[distributed_lock(path = "/async", on_lost = finish)]
pub async fn settles<T: Send>(value: T) -> Result<T, LockError> {
    tokio::task::yield_now().await;
    Ok(value)
}

#[distributed_lock(path = "/async", on_lost = cancel)]
pub async fn cancels() -> Result<(), LockError> {
    Ok(())
}

fn must_be_send<T: Send>(_: T) {}

pub fn calls() {
    must_be_send(finishes());
    must_be_send(settles(7));
    must_be_send(cancels());
}

#[distributed_lock(path = "/bridge/{id}")]
pub fn bridge(id: u64, runtime: &tokio::runtime::Runtime) -> Result<u64, LockError> {
    let body = async { id + 1 };
    Ok(runtime.block_on(body))
}
