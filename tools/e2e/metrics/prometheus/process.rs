//! A server of Prometheus that reads the metrics of this process once a second.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::scrape::render;

/// A server of Prometheus. It ends with this value, or with this process.
pub(super) struct Prometheus {
    child: Child,
    address: SocketAddr,
    _data: TempDir,
}

impl Prometheus {
    /// Starts the server with these alert rules. Debian's package has it beside `promtool`.
    pub(super) async fn start(promtool: &Path, rules: &Path) -> Self {
        let program = promtool.with_file_name("prometheus");
        assert!(program.is_file(), "there is no server of Prometheus beside {}", promtool.display());
        let (data, target) = (TempDir::new().unwrap(), serve().await);
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{:?}]\n\
             scrape_configs: [{{job_name: zklock, static_configs: [{{targets: [{:?}]}}]}}]\n",
            rules.canonicalize().unwrap(),
            target.to_string(),
        );
        let path = data.path().join("prometheus.yml");
        fs::write(&path, config).unwrap();
        let address = free_address();
        // The shell ends the server when this process has ended, and its input with it.
        let child = Command::new("sh")
            .args(["-c", "\"$@\" & server=$!; cat; kill $server; wait $server", "sh"])
            .arg(program)
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", data.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell runs");
        let prometheus = Self { child, address, _data: data };
        while prometheus.get("/-/ready").await.is_none_or(|answer| !answer.contains("Ready")) {
            sleep(PAUSE).await;
        }
        prometheus
    }

    /// Returns the values of a query that are numbers.
    pub(super) async fn values(&self, query: &str) -> Vec<f64> {
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let answer = self.json(&format!("/api/v1/query?query={query}")).await;
        let samples = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
        let values = samples.iter().map(|sample| sample["value"][1].as_str().unwrap().parse().unwrap());
        values.filter(|value: &f64| !value.is_nan()).collect()
    }

    /// Returns the names and the expressions of the alert rules.
    pub(super) async fn alerts(&self) -> Vec<(String, String)> {
        let answer = self.json("/api/v1/rules?type=alert").await;
        let groups = answer["data"]["groups"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
        let text = |rule: &Value, name: &str| rule[name].as_str().unwrap().to_owned();
        rules.map(|rule| (text(rule, "name"), text(rule, "query"))).collect()
    }

    async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await.expect("the server answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("the answer has a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    async fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        // The answer of this version is not sent in parts.
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// Serves the metrics until the end of the runtime, and returns the address.
async fn serve() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = BufReader::new(&mut stream).lines();
            while request.next_line().await.is_ok_and(|line| line.is_some_and(|line| !line.is_empty())) {}
            let head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n";
            stream.write_all((head.to_owned() + &render()).as_bytes()).await.ok();
        }
    });
    address
}

/// Returns an address at which nobody listens. No outgoing connection takes its port, because none starts from it.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::new(127, 77, 0, 1), 0)).unwrap().local_addr().unwrap()
}

pub(super) const PAUSE: Duration = Duration::from_millis(200);
