//! The clients of a measurement, with a proxy in front of the server, and the resident memory of this process.

use std::fs;
use std::time::{Duration, Instant};

use zklock::{Client, Config};
use zklock_testkit::{Proxy, ZooKeeper};

use crate::program::Failure;

/// A client whose requests are counted.
pub(crate) struct Counted {
    pub(crate) proxy: Proxy,
    pub(crate) client: Client,
}

impl Counted {
    pub(crate) async fn connect(server: &ZooKeeper) -> Result<Self, Failure> {
        let proxy = Proxy::start(server.address())?;
        let client = patient(proxy.connect_string()).connect().await?;
        Ok(Self { proxy, client })
    }

    /// Waits until the client sends little more than pings.
    pub(crate) async fn calm(&self) -> Result<(), Failure> {
        let is_calm = async || {
            let before = self.proxy.requests_total();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(self.proxy.requests_total() - before < 20)
        };
        until(is_calm, "the client is not calm").await
    }

    pub(crate) async fn shut_down(self) {
        shut_down(self.client).await;
    }
}

pub(crate) async fn shut_down(client: Client) {
    client.shutdown(LONGEST).await;
}

/// The settings of a client whose calls wait for as long as they have to.
pub(crate) fn patient(server: &str) -> Config {
    Config::new(server).default_wait(Duration::MAX).warn_after(Duration::MAX)
}

/// Waits for a state. Fails for this reason after two minutes.
pub(crate) async fn until(
    is_so: impl AsyncFn() -> Result<bool, Failure>,
    reason: &str,
) -> Result<(), Failure> {
    let start = Instant::now();
    while !is_so().await? {
        if start.elapsed() > LONGEST {
            return Err(reason.into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(crate) fn resident() -> Result<u64, Failure> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).ok_or("/proc/self/statm has no second number")?;
    Ok(pages.parse::<u64>()? * rustix::param::page_size() as u64)
}

/// Returns the bytes that came to be resident since, for each of these things.
pub(crate) fn each_since(before: u64, things: usize) -> Result<f64, Failure> {
    Ok((resident()? as f64 - before as f64) / things as f64)
}

const LONGEST: Duration = Duration::from_secs(120);
