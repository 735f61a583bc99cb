//! The dashboard and the alert rules in `docs/operations/`, and the output, as Prometheus checks them; and the guide.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use zklock_testkit::{EmbeddedServer, Promtool};

use super::scrape::{render, types, undescribed};
use super::{RECORDER, SOON, client};

const DASHBOARD: &str = include_str!("../../../docs/operations/dashboard.json");
const RULES: &str = include_str!("../../../docs/operations/alerts.yml");
const GUIDE: &str = include_str!("../../../docs/guide/metrics.md");

/// Records each metric, so that its name is known.
async fn record_all() {
    let server = EmbeddedServer::start().unwrap();
    let client = client(&server, "/operations").await;
    client.mutex("/a").unwrap().lock().await.unwrap().release().await.unwrap();
    client.election("/b").unwrap().latch().close().await.unwrap();
    client.shutdown(SOON).await;
}

#[track_caller]
fn check(arguments: &[&str], input: &str) {
    let promtool = Promtool::find_or_install().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(promtool.program());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool runs");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    assert!(status.success(), "{said}");
}

#[tokio::test]
async fn prometheus_accepts_the_metrics_without_a_complaint() {
    let _unblocked = RECORDER.read().await;
    record_all().await;
    check(&["check", "metrics"], &render());
}

#[test]
fn prometheus_accepts_the_alert_rules() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/alerts.yml");
    check(&["check", "rules", rules.to_str().unwrap()], "");
}

/// Each query is the expression of a rule here, because Prometheus checks files of rules only.
#[test]
fn prometheus_accepts_the_queries_of_the_dashboard() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries = targets.map(|target| target["expr"].as_str().unwrap().replace("$__rate_interval", "10s"));
    let rules: Vec<_> = queries
        .enumerate()
        .map(|(nth, expr)| json!({ "record": format!("query:{nth}"), "expr": expr }))
        .collect();
    assert!(rules.len() > 10, "{rules:?}");
    let mut file = NamedTempFile::new().unwrap();
    // JSON is YAML, too.
    write!(file, "{}", json!({ "groups": [{ "name": "dashboard", "rules": rules }] })).unwrap();
    check(&["check", "rules", file.path().to_str().unwrap()], "");
}

#[test]
fn the_alerts_fire_when_they_are_to_and_not_for_clients_that_are_gone() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("metrics/alerts.yml");
    check(&["test", "rules", tests.to_str().unwrap()], "");
}

#[test]
fn the_guide_sets_the_buckets_of_the_example() {
    let example = include_str!("../../../examples/services/metrics.rs");
    let buckets = "[0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0]";
    for code in [buckets, "PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?"] {
        assert!(example.contains(code) && GUIDE.contains(code), "{code}");
    }
}

fn names_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("zklock_"));
    words.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_dashboard_and_the_rules_name_metrics_that_there_are_and_the_dashboard_names_all() {
    let _unblocked = RECORDER.read().await;
    record_all().await;
    let mut known: BTreeSet<_> = types().into_iter().map(|(name, _)| name).collect();
    let of_histogram = |name: &str| name.trim_end_matches("_bucket").to_owned();
    let shown: BTreeSet<_> = names_in(DASHBOARD).iter().map(|name| of_histogram(name)).collect();
    assert_eq!(shown, known);
    let asked = names_in(RULES);
    known.retain(|name| asked.contains(name));
    assert_eq!(known, asked);
}

fn in_the_guide() -> Vec<(String, String)> {
    let rows = GUIDE.lines().filter_map(|line| line.strip_prefix("| `zklock_"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let mut rows: Vec<_> = cells
        .map(|cells| (format!("zklock_{}", cells[0].trim_end_matches('`')), cells[1].to_owned()))
        .collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn the_guide_lists_the_metrics_with_their_types() {
    let _unblocked = RECORDER.read().await;
    record_all().await;
    assert_eq!(types(), in_the_guide());
    let undescribed = undescribed();
    assert!(undescribed.is_empty(), "{undescribed:?}");
}
