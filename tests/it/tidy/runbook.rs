//! Checks that the runbook and the container file in `docs/operations/` are true.

use std::collections::BTreeSet;

use super::documents::between;
use super::{code, document, sources};

const RUNBOOK: &str = "docs/operations/README.md";

/// The rows of the only table below a heading, each as its cells. A cell that is one piece of code has no marks.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let level = heading.split(' ').next();
    let below = text.lines().skip_while(|line| *line != heading).skip(1);
    let section = below.take_while(|line| line.split(' ').next() != level);
    // The first two are the names of the columns, and the line below them.
    let lines = section.filter(|line| line.starts_with('|')).skip(2);
    let inside = |cell: &str| {
        let code = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        code.filter(|code| !code.contains('`')).unwrap_or(cell).to_owned()
    };
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| inside(cell.trim())).collect();
    lines.map(cells).collect()
}

/// Asserts that a table has a row for each of these things, and no other row.
#[track_caller]
fn assert_rows<T: Ord + std::fmt::Debug>(rows: Vec<T>, things: impl IntoIterator<Item = T>) {
    let (count, rows) = (rows.len(), BTreeSet::from_iter(rows));
    assert_eq!(rows.len(), count, "a row twice");
    let things = BTreeSet::from_iter(things);
    assert!(things.len() > 5, "there are only {things:?}");
    let missing: Vec<_> = things.difference(&rows).collect();
    let unknown: Vec<_> = rows.difference(&things).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:#?}, unknown: {unknown:#?}");
}

#[test]
fn the_runbook_has_each_metric() {
    let catalog = document("zklock-core/src/metrics.rs");
    let metrics = between(&catalog, "\"zklock_", '"').map(|text| format!("zklock_{text}"));
    assert_rows(
        rows(&document(RUNBOOK), "## Metrics").into_iter().map(|row| row[0].clone()).collect(),
        metrics,
    );
}

#[test]
fn the_runbook_has_each_alert_with_a_command_that_checks_it() {
    let rules = document("docs/operations/alerts.yml");
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned);
    let rows = rows(&document(RUNBOOK), "## Alerts");
    assert!(rows.iter().all(|row| row[2].contains("`zklock ")), "an alert without a command");
    assert_rows(rows.into_iter().map(|row| row[0].clone()).collect(), alerts);
}

/// The messages that a source logs by this macro of the crate `tracing`: the last argument of each call.
fn logged(text: &str, level: &str) -> Vec<String> {
    let text: String = code(text).flat_map(|line| [line, "\n"]).collect();
    let opening = format!("tracing::{level}!(");
    let calls = text.split(&opening).skip(1);
    let message = |call: &str| {
        let pieces: Vec<_> = call.split('"').collect();
        let mut texts = pieces.windows(2).skip(1).step_by(2);
        let is_last = |after: &str| after.trim_start_matches([',', ' ', '\n']).starts_with(')');
        texts.find(|pair| is_last(pair[1])).expect("a call that logs has a message")[0].to_owned()
    };
    calls.map(message).collect()
}

#[test]
fn the_runbook_has_each_warning_and_each_error_of_the_library() {
    let sources = ["src", "zklock-core/src"].into_iter().flat_map(sources);
    let lines = sources.flat_map(|(_, text)| {
        let of =
            |level: &str| logged(&text, level).into_iter().map(|line| (level.to_uppercase(), line)).collect();
        let [warnings, errors]: [Vec<_>; 2] = ["warn", "error"].map(of);
        [warnings, errors].concat()
    });
    let rows = rows(&document(RUNBOOK), "## Log lines").into_iter();
    assert_rows(rows.map(|row| (row[0].clone(), row[1].clone())).collect(), lines);
}

#[test]
fn a_message_is_found_behind_other_arguments_and_on_a_line_of_its_own() {
    let text =
        "tracing::warn!(a = f(\"x\", 1), \"first\");\ng(|e| tracing::warn!(%e,\n    \"second\",\n));\n";
    assert_eq!(logged(text, "warn"), ["first", "second"]);
    assert_eq!(logged(text, "error"), [""; 0]);
}

#[test]
fn the_runbook_has_each_exit_code_of_the_command() {
    let source = document("tools/cli/src/exit.rs");
    let codes = source.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let codes: Vec<u8> = codes.filter_map(|(_, number)| number.parse().ok()).collect();
    let rows = rows(&document(RUNBOOK), "## Exit codes");
    let (ours, others): (Vec<_>, Vec<_>) =
        rows.iter().map(|row| row[0].as_str()).partition(|cell| cell.parse::<u8>().is_ok());
    assert_eq!(others, ["128 + n"]);
    assert_rows(ours.into_iter().map(|cell| cell.parse().unwrap()).collect(), codes);
}

/// The bounds of the code: each line has a file, its words, and those of the runbook.
const BOUNDS: &str = "\
last_start/cache.rs ~ MOST: usize = 100_000; ~ that one client remembers | 100,000 |
session/counts.rs ~ REQUESTS: usize = 128; ~ requests of contenders of one client that are under way | 128 |
session/counts.rs ~ BYTES: usize = 900 * 1024; ~ paths of 900 KiB (921,600 bytes) together
session/requests/length.rs ~ LONGEST: usize = (1 << 20) - 1; ~ included | 1,048,575 bytes
path.rs ~ MAX_BYTES: usize = 1_000_000; ~ length of a path | 1,000,000 bytes
client/config.rs ~ LONGEST_IDENTITY: usize = 1024; ~ | identity of a client | 1,024 bytes |
metrics.rs ~ MOST_NAMES: usize = 1_000; ~ names of locks in the metrics of one client | 1,000 |
survey.rs ~ NODES: u32 = 10_000; ~ look at | 10,000, and 16 levels
survey.rs ~ DEPTH: u32 = 16; ~ look at | 10,000, and 16 levels
survey.rs ~ LONGEST: i32 = 10_000; ~ a node with more than 10,000 children
leader/latch.rs ~ Backoff::new(Duration::from_millis(100), Duration::from_secs(30)) ~ It tries again within 30 s.
leader/leadership.rs ~ GRACE: Duration = Duration::from_secs(5); ~ still runs 5 s after its leadership
client/worker.rs ~ LONGEST_PAUSE: Duration = Duration::from_secs(3); ~ tries again after at most 3 s
session.rs ~ CLOSE_WITHIN: Duration = Duration::from_secs(2); ~ end of the session within 2 s
";

#[test]
fn the_runbook_has_the_bounds_of_the_code() {
    let runbook = document(RUNBOOK);
    for line in BOUNDS.lines() {
        let [path, bound, words] = line.split(" ~ ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let code = document(&format!("zklock-core/src/{path}"));
        assert!(code.contains(bound), "{path} has no {bound}, which the runbook states as {words:?}");
        assert!(runbook.contains(words), "the runbook has no {words:?}");
    }
}

#[test]
fn the_runbook_counts_the_paths_that_fit_into_the_bounds() {
    let runbook = document(RUNBOOK);
    let lock = between(&runbook, "10,971 at `", '`').next().expect("an example");
    // A name of a contender at a mutex, as Curator has it.
    let name = format!("_c_{}-lock-{:010}", "00000000-0000-0000-0000-000000000000", 0);
    let (path, prefix) = (format!("{lock}/{name}"), size_of::<u32>());
    for (bytes, length, words) in [
        (900 * 1024, path.len(), format!("together: {{}} at `{lock}`")),
        (
            0xf_ffff,
            name.len() + prefix,
            format!("| {{}} mutexes; a name has {} bytes and a prefix of {prefix} |", name.len()),
        ),
    ] {
        let count = bytes / length;
        let words = words.replace("{}", &format!("{},{:03}", count / 1_000, count % 1_000));
        assert!(runbook.contains(&words), "the runbook has no {words:?}");
    }
}

fn instructions<'a>(file: &'a str, name: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    file.lines()
        .filter(move |line| line.split(' ').next() == Some(name))
        .map(|line| line.split(' ').skip(1).collect())
}

#[test]
fn the_container_file_copies_each_member_of_the_workspace_and_runs_the_command_as_a_user() {
    let file = document("docs/operations/Containerfile");
    let copied: Vec<_> = instructions(&file, "COPY").flatten().collect();
    for folder in ["src", "examples", "tests", "tools", "zklock-core", "zklock-macros"] {
        assert!(copied.contains(&folder), "{folder} is not copied");
    }
    let bases: Vec<_> = instructions(&file, "FROM").map(|base| base[0]).collect();
    assert_eq!((bases.len(), bases[1]), (2, "scratch"));
    let [user] = instructions(&file, "USER").next().expect("a user")[..] else { panic!("two users") };
    // Kubernetes checks that a number is not root. It cannot check a name.
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(instructions(&file, "ENTRYPOINT").next().expect("an entry")[..], ["[\"/zklock\"]"]);
    assert_eq!(copied.last(), Some(&"/zklock"));
}
