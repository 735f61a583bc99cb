//! The clients of a measurement, with a proxy in front of the server.

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
        let start = Instant::now();
        loop {
            let before = self.proxy.requests_total();
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.proxy.requests_total() - before < 20 {
                return Ok(());
            }
            within_limit(start, "the client is not calm")?;
        }
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

/// Refuses to wait for longer than two minutes.
pub(crate) fn within_limit(start: Instant, reason: &str) -> Result<(), Failure> {
    if start.elapsed() > LONGEST { Err(reason.into()) } else { Ok(()) }
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

const LONGEST: Duration = Duration::from_secs(120);
