//! The command lines of the documents, and the files for containers and Kubernetes in `docs/operations/`.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::zklock::Zklock;

const CRON_JOB: &str = "docs/operations/cronjob.yaml";
const DEPLOYMENT: &str = "docs/operations/deployment.yaml";
/// The documents with command lines.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/operations/README.md", "tools/cli/README.md"];

fn document(path: &str) -> String {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    std::fs::read_to_string(root.join(path)).expect("the document is there")
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&document(path)).expect("YAML")
}

/// Asserts that the command accepts these arguments. It ends before it connects, since its configuration is missing.
#[track_caller]
fn assert_accepted(arguments: &[&str]) {
    let zklock = Zklock::new("").env("ZKLOCK_CONFIG", "/nonexistent/zklock.toml");
    arguments.iter().fold(zklock, |zklock, argument| zklock.arg(argument)).ends(78);
}

/// The command lines in the consoles and in the pieces of code of a document, without their first word.
fn command_lines(text: &str) -> Vec<String> {
    let mut parts = text.split("\n```");
    let (mut lines, mut prose) = (Vec::new(), Vec::new());
    while let Some(outside) = parts.next() {
        prose.push(outside.replace('\n', " "));
        let console = parts.next().and_then(|block| block.strip_prefix("console\n"));
        lines.extend(console.into_iter().flat_map(str::lines).map(str::to_owned));
    }
    let pieces = prose.iter().flat_map(|part| part.split('`').skip(1).step_by(2)).map(str::to_owned);
    let found = lines.into_iter().chain(pieces);
    let arguments = |line: String| {
        let line = line.split(" #").next().unwrap_or_default();
        line.strip_prefix("zklock ").map(|arguments| arguments.trim().to_owned())
    };
    found.filter_map(arguments).collect()
}

#[test]
fn the_command_accepts_the_lines_of_the_documents() {
    let mut count = 0;
    for path in DOCUMENTS {
        for line in command_lines(&document(path)) {
            let arguments: Vec<_> = line.split_whitespace().collect();
            // These need no configuration: they print a text, or serve. The table of all commands has them.
            if !["completions", "man", "serve"].contains(&arguments[0]) {
                assert_accepted(&arguments);
                count += 1;
            }
        }
    }
    assert!(count > 30, "the documents have only {count} command lines");
}

/// The text at a place of a file.
#[track_caller]
fn text<'a>(file: &'a Value, place: &str) -> &'a str {
    file.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("no text at {place}"))
}

/// The number of seconds at a place of a file.
#[track_caller]
fn seconds(file: &Value, place: &str) -> Duration {
    let seconds = file.pointer(place).and_then(Value::as_u64);
    Duration::from_secs(seconds.unwrap_or_else(|| panic!("no number at {place}")))
}

#[track_caller]
fn assert_safe_and_known(pod: &Value) {
    assert_eq!(pod.pointer("/securityContext/runAsNonRoot"), Some(&Value::Bool(true)));
    let settings = document("docs/guide/configuration.md");
    let variables = pod.pointer("/containers/0/env").and_then(Value::as_array).expect("variables");
    for variable in variables {
        let name = text(variable, "/name");
        assert!(settings.contains(&format!("\n| `{name}` |")), "the settings have no {name}");
    }
}

#[test]
fn the_command_accepts_the_arguments_of_the_cron_job_which_runs_once_for_all_clusters() {
    let file = yaml(CRON_JOB);
    assert_eq!([text(&file, "/apiVersion"), text(&file, "/kind")], ["batch/v1", "CronJob"]);
    assert_eq!(text(&file, "/spec/concurrencyPolicy"), "Forbid");
    let job = file.pointer("/spec/jobTemplate/spec").expect("a job");
    let pod = job.pointer("/template/spec").expect("a pod");
    assert_safe_and_known(pod);
    assert!(text(pod, "/containers/0/command/0").ends_with("/zklock"));

    let arguments = pod.pointer("/containers/0/args").and_then(Value::as_array).expect("arguments");
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.as_str().expect("a text")).collect();
    assert_accepted(&arguments);
    let duration = |option: &str| {
        let value = arguments.iter().find_map(|argument| argument.strip_prefix(option));
        humantime::parse_duration(value.expect(option)).expect("a duration")
    };
    let attempts = 1 + job.pointer("/backoffLimit").and_then(Value::as_u64).expect("a limit");
    let waits = duration("--wait=") * u32::try_from(attempts).expect("a small number");
    assert!(waits < seconds(job, "/activeDeadlineSeconds"));
    // The schedule is daily.
    assert!(duration("--once-per=") < Duration::from_secs(24 * 60 * 60));
    let release = Duration::from_secs(20);
    assert!(seconds(pod, "/terminationGracePeriodSeconds") > release);
}

#[test]
fn the_cron_job_tries_again_only_if_no_server_answers_or_others_hold_the_lock() {
    let file = yaml(CRON_JOB);
    let job = file.pointer("/spec/jobTemplate/spec").expect("a job");
    // Kubernetes refuses a policy with another one.
    assert_eq!(text(job, "/template/spec/restartPolicy"), "Never");
    let rules = job.pointer("/podFailurePolicy/rules").and_then(Value::as_array).expect("rules");
    let [again, code, gone] = &rules[..] else { panic!("other rules") };
    let [unavailable, contended] = [69, 75].map(Value::from);
    let codes = Value::from(vec![unavailable, contended]);
    for (rule, action, operator) in [(again, "Count", "In"), (code, "FailJob", "NotIn")] {
        assert_eq!([text(rule, "/action"), text(rule, "/onExitCodes/operator")], [action, operator]);
        assert_eq!(rule.pointer("/onExitCodes/values"), Some(&codes));
        let container = text(rule, "/onExitCodes/containerName");
        assert_eq!(container, text(job, "/template/spec/containers/0/name"));
    }
    assert_eq!(text(gone, "/action"), "FailJob");
    let condition = ["type", "status"].map(|field| text(gone, &format!("/onPodConditions/0/{field}")));
    assert_eq!(condition, ["DisruptionTarget", "True"]);
}

#[test]
fn the_deployment_has_time_for_a_shutdown_and_lives_without_servers() {
    let (file, guide) = (yaml(DEPLOYMENT), document("docs/guide/kubernetes.md"));
    assert_eq!([text(&file, "/apiVersion"), text(&file, "/kind")], ["apps/v1", "Deployment"]);
    let pod = file.pointer("/spec/template/spec").expect("a pod");
    assert_safe_and_known(pod);
    let container = pod.pointer("/containers/0").expect("a container");

    // The paths of the guide: the first one answers by `zklock::readiness`.
    let ready = text(container, "/readinessProbe/httpGet/path");
    assert!(guide.contains(&format!("path: {ready}, port: 8080")) && guide.contains(&format!("`{ready}`")));
    assert_ne!(text(container, "/livenessProbe/httpGet/path"), ready);
    assert_eq!(container.pointer("/ports/0/containerPort"), Some(&Value::from(8080)));

    let shutdown =
        guide.split("zklock::shutdown(Duration::from_secs(").nth(1).and_then(|rest| rest.split(')').next());
    let shutdown = Duration::from_secs(shutdown.expect("a shutdown").parse().expect("seconds"));
    // It returns a few seconds after its own grace period at the latest.
    let whole = seconds(container, "/lifecycle/preStop/sleep/seconds") + shutdown + Duration::from_secs(5);
    assert!(seconds(pod, "/terminationGracePeriodSeconds") > whole, "{whole:?}");
    assert!(container.pointer("/resources/limits/cpu").is_none());
}
