//! The parts of documents that have figures.

use std::borrow::Cow;
use std::fmt::Write;

use super::alone;
use crate::bench::figures::Figures;
use crate::bench::results::Results;
use crate::bench::scenarios::{CONTENDERS, CROWD, CURATOR, KAZOO, SCENARIOS, ZKLOCK, contenders};
use crate::bench::table::{Table, shortened};
use crate::step::Outcome;

/// A part, and its name.
type Part = (&'static str, String);

/// Returns the parts of docs/performance.md.
pub(crate) fn speed(results: &Results) -> Outcome<Vec<Part>> {
    let parts = [
        ("machine", machine(results)),
        ("contention", contention(results)?),
        ("kazoo", kazoo(results)?),
        ("schemes", schemes(results)?),
    ];
    Ok(parts.into_iter().chain(alone::parts(results)?).collect())
}

/// Returns the parts of the README.
pub(crate) fn readme(results: &Results) -> Outcome<Vec<Part>> {
    let mut text = format!(
        "On {machine}{busy}, beside Curator on the same server:\n\n\
         | | zklock | Curator | ratio | requests of zklock | of Curator |\n|---|---:|---:|---:|---:|---:|\n",
        machine = short_machine(results),
        busy = if is_busy(results) { ", for which other programs competed" } else { "" },
    );
    for (scenario, words) in README {
        let (zklock, curator) = (results.of(scenario, ZKLOCK)?, results.of(scenario, CURATOR)?);
        let ops = |figures: &Figures| figures.get("ops_per_s");
        writeln!(
            text,
            "| {words} | {:.0}/s | {:.0}/s | {} | {:.2} | {:.2} |",
            ops(&zklock)?,
            ops(&curator)?,
            shortened(ops(&zklock)? / ops(&curator)?),
            zklock.get("requests_per_op")?,
            curator.get("requests_per_op")?,
        )?;
    }
    Ok(vec![("cost", text)])
}

fn property<'a>(results: &'a Results, name: &str) -> Cow<'a, str> {
    let value = &results.machine[name];
    value.as_str().map_or_else(|| value.to_string().into(), Into::into)
}

fn short_machine(results: &Results) -> String {
    format!("{} ({})", processors(results), property(results, "cpu"))
}

fn machine(results: &Results) -> String {
    let of = |name| property(results, name);
    let (least, greatest) = results.loads();
    let busy = if is_busy(results) {
        "\n* other programs competed for the processors all the time: times and rates are worse than those of a quiet \
         machine, while the requests of an operation are not, and ratios are rough"
    } else {
        ""
    };
    format!(
        "* {} ({}), {} GiB of memory, Linux {}; the servers, the clients and the proxies share them\n\
         * one ZooKeeper {}, without replicas\n\
         * {}; {}; {}; {}\n\
         * zklock at {}, on {}\n\
         * {}, with {} s for one measurement{}; one round of each table without another library\n\
         * load averages of one minute before the measurements: {least:.2} to {greatest:.2}, those of earlier \
         measurements included{busy}",
        processors(results),
        of("cpu"),
        of("memory_gib"),
        of("kernel"),
        of("zookeeper"),
        of("java"),
        of("python"),
        of("rustc"),
        "kazoo 2.11.0",
        of("commit"),
        of("date"),
        results.rounds(),
        of("seconds"),
        crowds(results),
    )
}

/// Returns the length of the measurements of crowds, if it is another one.
fn crowds(results: &Results) -> String {
    match results.machine.get("crowd_seconds") {
        Some(seconds) if *seconds != results.machine["seconds"] => {
            format!(" ({seconds} s with {CROWD} contenders)")
        }
        Some(_) | None => String::new(),
    }
}

/// Returns whether other programs left too little of the processors.
fn is_busy(results: &Results) -> bool {
    // The measurements alone keep about two processes busy.
    let processors = results.machine["processors"].as_f64().unwrap_or_default();
    results.loads().0 > processors.max(2.0) + 1.0
}

fn processors(results: &Results) -> String {
    format!("{} processors", property(results, "processors"))
}

fn contention(results: &Results) -> Outcome<String> {
    let mut table = Table::default();
    for scenario in SCENARIOS {
        table.add(scenario.name, &results.medians(scenario.name))?;
    }
    Ok(table.to_string())
}

fn kazoo(results: &Results) -> Outcome<String> {
    let mut text = String::from(
        "| scenario | kazoo ops/s | zklock ops/s | ops/s : kazoo | p50 : kazoo | requests/op of kazoo | of zklock |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for scenario in SCENARIOS {
        let Ok(kazoo) = results.of(scenario.name, KAZOO) else { continue };
        let zklock = results.of(scenario.name, ZKLOCK)?;
        let ratio = |name| -> Outcome<f64> { Ok(zklock.get(name)? / kazoo.get(name)?) };
        writeln!(
            text,
            "| {} | {:.0} | {:.0} | {} | {} | {:.2} | {:.2} |",
            scenario.name,
            kazoo.get("ops_per_s")?,
            zklock.get("ops_per_s")?,
            shortened(ratio("ops_per_s")?),
            shortened(ratio("p50_us")?),
            kazoo.get("requests_per_op")?,
            zklock.get("requests_per_op")?,
        )?;
    }
    Ok(text)
}

fn schemes(results: &Results) -> Outcome<String> {
    let mut text = String::from(
        "| contenders | scheme | sessions | ops/s | requests/op | events/op | wait p50 ms | wait p99 ms |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for count in CONTENDERS {
        for (client, figures) in results.medians(&contenders(count)) {
            let or_nothing =
                |name| figures.find(name).map_or_else(String::new, |value: f64| format!("{value:.2}"));
            writeln!(
                text,
                "| {count} | {client} | {:.0} | {:.0} | {:.2} | {} | {} | {} |",
                figures.get("sessions")?,
                figures.get("ops_per_s")?,
                figures.get("requests_per_op")?,
                or_nothing("events_per_op"),
                or_nothing("p50_ms"),
                or_nothing("p99_ms"),
            )?;
        }
    }
    Ok(text)
}

/// The scenarios of the README, in words.
const README: [(&str, &str); 5] = [
    ("mutex 1×1", "one client takes and releases one mutex"),
    ("distinct 1×64", "64 tasks of one client, each with a mutex of its own"),
    ("mutex 8×1", "8 clients at one mutex"),
    ("mutex 1×100", "100 tasks of one client at one mutex"),
    ("rw 8×4, 9 reads to 1 write", "32 tasks of 8 clients at one read-write lock, 10 % writes"),
];
