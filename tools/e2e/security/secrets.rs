//! Nothing that others may read shows a password or a key.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use zklock::{Acl, Config, Tls};

use crate::secured::{Credentials, DIGEST_PASSWORD, SASL_PASSWORD, Transport, namespace, secured};
use crate::{failed, soon, until};

const WRONG_PASSWORD: &str = "wr0ng-s3cret";

/// All lines of all levels and crates, and other texts.
static TEXTS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn add(text: &str) {
    writeln!(TEXTS.lock().unwrap(), "{text}").unwrap();
}

/// Returns the forms in which a secret could be shown.
pub(crate) fn forms(secret: &[u8]) -> [String; 5] {
    let list = format!("{secret:?}");
    let bytes = format!("{:?}", Bytes::copy_from_slice(secret));
    [
        String::from_utf8_lossy(secret).into_owned(),
        list.trim_matches(['[', ']']).to_owned(),
        secret.escape_ascii().to_string(),
        bytes.trim_start_matches("b\"").trim_end_matches('"').to_owned(),
        secret.iter().map(|byte| format!("{byte:02x}")).collect(),
    ]
}

/// Uses all that a client can do with its credentials, and collects what it tells.
async fn tell() {
    let (secured, namespace) = (secured(), namespace());
    let config = secured.config(Transport::Certified, Credentials::Digest, &namespace);
    let config = config.sasl_digest("worker", SASL_PASSWORD).acl(Acl::CreatorAll);
    add(&format!("{config:?}"));
    let client = config.clone().connect().await.unwrap();
    let mut events = client.events();
    let mutex = client.mutex("/orders/7").unwrap();
    let guard = soon(mutex.lock()).await.unwrap();
    guard.upsert("/ledger", b"1").await.unwrap();
    add(&format!("{client:?} {mutex:?} {guard:?} {:?}", mutex.participants().await.unwrap()));
    guard.release().await.unwrap();
    let latch = client.leader_latch("/leader").unwrap();
    add(&format!("{:?} {latch:?}", soon(latch.leadership()).await.unwrap()));
    let stranger = secured.stranger(&namespace).await;
    add(&format!("{:?}", failed(stranger.mutex("/orders/7").unwrap().participants().await)));
    client.shutdown(Duration::from_secs(10)).await;
    drop((client, mutex, latch));
    while let Some(event) = soon(events.next()).await {
        add(&format!("{event:?}"));
    }
    for refused in [
        config.clone().sasl_digest("worker", WRONG_PASSWORD).connect_timeout(Duration::from_secs(5)),
        config.clone().tls(Tls::ca_pem(WRONG_PASSWORD)),
        config.clone().tls(secured.tls().identity_pem(WRONG_PASSWORD, secured.key())),
        config.clone().acl(Acl::entries([format!("digest:user:{WRONG_PASSWORD}:r")])),
        config.digest("", WRONG_PASSWORD),
    ] {
        let error = failed(soon(refused.connect()).await);
        add(&format!("{error} {error:?}"));
    }
    let malformed = format!(r#"{{"connect": "a", "digests": {{"user": "{WRONG_PASSWORD}"}}}}"#);
    add(&serde_json::from_str::<Config>(&malformed).unwrap_err().to_string());
}

#[tokio::test]
async fn no_text_shows_a_secret_at_any_level() {
    let log = tracing_subscriber::fmt().with_writer(|| TEXTS.make_writer()).with_ansi(false);
    log.with_max_level(LevelFilter::TRACE).init();
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    tell().await;
    until("the metrics are recorded", async || metrics.render().contains("zklock_sessions_total")).await;
    add(&metrics.render());
    add(&String::from_utf8_lossy(&std::fs::read("/proc/self/cmdline").unwrap()));
    let all = String::from_utf8_lossy(&TEXTS.lock().unwrap()).into_owned();
    for told in ["session opened", "zookeeper_client", "DEBUG", "zklock_sessions_total", "invalid setting"] {
        assert!(all.contains(told), "the texts have nothing of {told}");
    }
    let key: Vec<_> = secured().key().lines().filter(|line| !line.starts_with("--")).collect();
    for secret in [DIGEST_PASSWORD, SASL_PASSWORD, WRONG_PASSWORD].into_iter().chain(key) {
        for form in forms(secret.as_bytes()) {
            let line = all.lines().find(|line| line.contains(&form));
            assert!(line.is_none(), "a secret is shown: {}", line.unwrap_or_default());
        }
    }
}
