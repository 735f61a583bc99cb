//! One campaign, from the start of the servers to the report.

mod verdict;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use zklock_testkit::Ensemble;

use crate::fleet::{Fleet, Skew, TRUE};
use crate::history::{Event, Process};
use crate::injection::{Bell, Field, mend};
use crate::journal::Chronicle;
use crate::options::Options;
use crate::orders::{CONTAINERS_MS, NAMESPACE, Orders, SESSION, SYNC_LIMIT, TICK, Workload};
use crate::outsider::Outsider;
use crate::schedule::{Kind, Plan};
use crate::service;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Runs a campaign, and succeeds if it finds no violation.
pub(crate) fn run(options: &Options) -> ExitCode {
    exit_code(campaign(options))
}

/// Checks the histories that an earlier campaign has kept in a directory, and succeeds if it finds no violation.
pub(crate) fn check(directory: &Path) -> ExitCode {
    exit_code(verdict::again(directory))
}

fn exit_code(outcome: Outcome<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos: {error}");
            ExitCode::from(2)
        }
    }
}

/// Creates the directory of the histories and of the shared files.
fn create(kept: Option<&Path>) -> Outcome<PathBuf> {
    let Some(path) = kept else {
        return Ok(tempfile::Builder::new().prefix("zklock-chaos-").tempdir()?.keep());
    };
    fs::create_dir_all(path)?;
    if fs::read_dir(path)?.next().is_some() {
        return Err(format!("{} is not empty", path.display()).into());
    }
    Ok(fs::canonicalize(path)?)
}

fn campaign(options: &Options) -> Outcome<bool> {
    let directory = create(options.keep.as_deref())?;
    let skew = Skew::build(&directory)?;
    let plan = options.plan(|kind| kind != Kind::SkewClock || skew.is_some());
    let (runtime, end) = (Runtime::new()?, Bell::default());
    ring_on_signals(&runtime, &end)?;
    let chronicle = Chronicle::begin(&directory)?;
    chronicle.say(&format!("seed {}, {} faults planned", plan.seed, plan.schedule().len()));
    let ensemble = Arc::new(start_servers(options.servers)?);
    let servers: Vec<_> = ensemble.servers().iter().map(|server| server.address()).collect();
    let orders = Orders {
        connect: String::new(),
        process: Process { number: 0, incarnation: 0 },
        directory: directory.clone(),
        service: runtime.block_on(service::start())?,
        seed: options.seed,
        tasks: options.tasks(),
        rate: TRUE,
        workloads: options.workloads(),
    };
    let mut fleet = Fleet::start(orders, skew, &chronicle.journal, &servers, options.processes)?;
    fleet.run_all()?;
    let field = Field {
        ensemble,
        fleet: Arc::new(Mutex::new(fleet)),
        outsider: Outsider::new(servers.clone()),
        chronicle: chronicle.clone(),
        queues: options.workloads().into_iter().flat_map(Workload::queues).collect(),
        runtime: runtime.handle().clone(),
        end: end.clone(),
    };
    let failed = played(&field, &plan);
    // A history that ends early may show a violation, too.
    let ended = failed.as_deref().unwrap_or_default();
    let verdict = verdict::reached(&chronicle, &directory, options, ended);
    if options.keep.is_none() && matches!((&verdict, &failed), (Ok(true), Ok(_))) {
        fs::remove_dir_all(&directory)?;
    } else {
        println!("the histories are in {}", directory.display());
    }
    failed.and(verdict)
}

/// Injects the faults, and ends all of them and all processes. Returns the processes that failed. A campaign that was told
/// to end early is finished too, and fails.
fn played(field: &Field, plan: &Plan) -> Outcome<Vec<String>> {
    let (mut failed, played) = play(field, plan)?;
    failed.extend(finish(field)?);
    match played < plan.length {
        true => Err(format!("it was ended after {:.1} s", played.as_secs_f64()).into()),
        false => Ok(failed),
    }
}

fn start_servers(servers: usize) -> Outcome<Ensemble> {
    let builder = Ensemble::builder().servers(servers).tick_time(TICK).sync_limit(SYNC_LIMIT);
    let builder = builder.system_property("znode.container.checkIntervalMs", CONTAINERS_MS);
    Ok(builder.separable().start()?)
}

/// Ends the time with faults at Ctrl-C and at SIGTERM, and this program at the second one.
fn ring_on_signals(runtime: &Runtime, end: &Bell) -> Outcome {
    let _context = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let (mut signals, end) = (signal(kind)?, end.clone());
        runtime.spawn(async move {
            signals.recv().await;
            end.ring();
            signals.recv().await;
            std::process::exit(INTERRUPTED);
        });
    }
    Ok(())
}

/// Ends all processes, whose faults have ended, and notes the nodes that are left. Returns the processes that failed to
/// end.
fn finish(field: &Field) -> Outcome<Vec<String>> {
    field.chronicle.say("all faults end");
    mend(&field.ensemble)?;
    field.fleet().run_all()?;
    thread::sleep(CALM);
    field.chronicle.say("all processes stop");
    // The sessions of the processes have not ended when the nodes are looked for.
    field.fleet().rest(FINISH_WITHIN)?;
    let mut paths = left(field)?;
    let failed = field.fleet().finish(FINISH_WITHIN)?;
    paths.extend(left(field)?);
    paths.sort_unstable();
    paths.dedup();
    field.chronicle.say(&format!("{} nodes are left", paths.len()));
    field.chronicle.note(Event::NodesLeft { paths });
    Ok(failed)
}

/// Returns the nodes of contenders that every server still has when the sessions of all killed processes have expired.
///
/// A node that only some servers have is told, and is no violation: ZooKeeper does not keep its own promises then.
fn left(field: &Field) -> Outcome<Vec<String>> {
    let deadline = Instant::now() + 3 * SESSION;
    let found = loop {
        match field.runtime.block_on(field.outsider.ephemerals(NAMESPACE)) {
            Ok(found) if found.is_empty() || Instant::now() > deadline => break found,
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Ok(_) | Err(_) => thread::sleep(TICK),
        }
    };
    let all = field.ensemble.servers().len();
    let mut paths = Vec::new();
    for (path, (session, servers)) in found {
        field.chronicle.say(&format!("{path} of session {session:x} is left at {servers} of {all} servers"));
        if servers == all {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Injects faults until the end of the plan, or until the bell rings. Returns the processes that ended by themselves, and
/// how long it played.
fn play(field: &Field, plan: &Plan) -> Outcome<(Vec<String>, Duration)> {
    let (begin, mut ended, mut threads) = (Instant::now(), Vec::new(), Vec::new());
    let mut planned = plan.schedule().into_iter().peekable();
    while begin.elapsed() < plan.length && !field.end.has_rung() {
        for line in field.fleet().ended()? {
            field.chronicle.say(&line);
            ended.push(line);
        }
        while let Some(next) = planned.next_if(|next| next.at <= begin.elapsed()) {
            threads.push(field.inject(next.fault)?);
        }
        field.fleet().run_all()?;
        field.end.wait(STEP);
    }
    let played = begin.elapsed();
    field.end.ring();
    for thread in threads {
        // A panic was printed when it happened.
        thread.join().map_err(|_| "the thread of a fault panicked")?;
    }
    Ok((ended, played))
}

/// The pause between two looks at the schedule.
const STEP: Duration = Duration::from_millis(10);

/// The time without faults before the processes stop, in which each of them works again.
const CALM: Duration = Duration::from_secs(3);
/// The exit code at a second signal.
const INTERRUPTED: i32 = 130;
/// The time limit for the end of the processes: longer than a wait and a shutdown.
const FINISH_WITHIN: Duration = Duration::from_secs(40);
