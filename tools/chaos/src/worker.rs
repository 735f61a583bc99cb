//! One process of a campaign: a client with many tasks that take locks.

mod locks;
mod store;
mod task;

use std::fs::File;
use std::io::{self, BufRead};
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::time::Duration;

use crate::history::{Event, Process, Source, Way};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zklock::{Client, Config};

use crate::journal::{Journal, at_rest, now};
use crate::orders::{
    FENCED, GUARDED, NAMESPACE, Orders, REGISTERS, SESSION, SYNC_LIMIT, TICK, WAIT, Workload,
};

use self::task::{Task, Ways};

/// Works until the standard input says `stop`, then gives all locks back, and keeps its session until the input says `end`.
pub(crate) fn run(orders: &str) -> ExitCode {
    let orders: &Orders = &serde_json::from_str(orders).expect("the campaign gives orders");
    // A process that stands still does not notice the end of its input.
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("the process cannot be bound to its parent: {error}");
        return ExitCode::FAILURE;
    }
    end_on_panic();
    eprintln!("{orders:?}");
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let [(stop, stopped), (end, ended)] = [(); 2].map(|()| watch::channel(false));
    std::thread::spawn(move || [stop, end].iter().for_each(wait_for_word));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let worked = runtime.map(|runtime| runtime.block_on(work(orders, (stopped, ended))));
    match worked {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) | Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Ends the process on a panic of any thread or task, so that the campaign sees it.
fn end_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        exit(PANICKED);
    }));
}

/// Waits for the next word of the campaign.
fn wait_for_word(said: &watch::Sender<bool>) {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) => drop(said.send_replace(true)),
        // The campaign has gone.
        Ok(0) | Err(_) => exit(ABANDONED),
    }
}

async fn work(
    orders: &Orders,
    (stopped, mut ended): (watch::Receiver<bool>, watch::Receiver<bool>),
) -> io::Result<()> {
    let journal = Journal::create(&orders.directory, Source::Process(orders.process))?;
    let Some(client) = connected(orders, stopped.clone()).await else { return Ok(()) };
    note_stalls(&journal, orders.process)?;
    let ways = Arc::new(Ways { client: client.clone(), journal, orders: orders.clone(), stopped });
    let mut tasks = JoinSet::new();
    let mut number = 0;
    for workload in &orders.workloads {
        for nth in 0..orders.tasks.max(2) {
            begin(&mut tasks, (*workload, nth), Task::new(&ways, number));
            number += 1;
        }
    }
    tasks.join_all().await;
    File::create(at_rest(&orders.directory, orders.process))?;
    // It fails if the thread that reads the input is gone, which does not end before.
    ended.wait_for(|ended| *ended).await.map_err(io::Error::other)?;
    if timeout(SHUTDOWN_WITHIN, client.shutdown(SHUTDOWN_GRACE)).await.is_err() {
        return Err(io::Error::other("the client does not shut down"));
    }
    Ok(())
}

/// Notes the times for which the process stands still, or has no processor, from a thread that has nothing else to do.
fn note_stalls(journal: &Journal, process: Process) -> io::Result<()> {
    let journal = journal.clone();
    let note = move || {
        loop {
            let begin = now();
            std::thread::sleep(STALL / 5);
            let nanos = now() - begin;
            if u128::from(nanos) > STALL.as_nanos() {
                journal.note(Source::Process(process), Event::Stalled { nanos });
            }
        }
    };
    std::thread::Builder::new().name("stalls".to_owned()).spawn(note).map(drop)
}

/// Begins the nth task of a kind of work.
fn begin(tasks: &mut JoinSet<()>, (workload, nth): (Workload, u32), task: Task) {
    match (workload, nth) {
        (Workload::Register, _) => tasks.spawn(locks::update(task, REGISTERS, Way::Plain)),
        (Workload::FencedRegister, _) => tasks.spawn(locks::update(task, FENCED, Way::Fenced)),
        (Workload::Guarded, _) => tasks.spawn(locks::update(task, GUARDED, Way::Guarded)),
        (Workload::ReadWrite, _) => tasks.spawn(locks::read_write(task)),
        (Workload::Permits, _) => tasks.spawn(locks::permits(task)),
        (Workload::Multi, _) => tasks.spawn(locks::multi(task)),
        (Workload::Leader, 0) => tasks.spawn(locks::lead(task)),
        (Workload::Leader, _) => tasks.spawn(locks::start(task)),
    };
}

/// Connects, however long the servers cannot be reached; `None` if the process is to stop before.
async fn connected(orders: &Orders, mut stopped: watch::Receiver<bool>) -> Option<Client> {
    loop {
        let config = Config::new(&orders.connect)
            .namespace(NAMESPACE)
            .session_timeout(SESSION)
            .tick_time(TICK)
            .sync_limit(TICK * SYNC_LIMIT)
            .default_wait(WAIT)
            .identity(format!("chaos-{}", orders.process));
        tokio::select! {
            connected = config.connect() => match connected {
                Ok(client) => return Some(client),
                Err(error) => eprintln!("cannot connect: {error}"),
            },
            _ = stopped.wait_for(|stopped| *stopped) => return None,
        }
        sleep(TICK).await;
    }
}

/// The shortest time without a processor that is noted.
const STALL: Duration = Duration::from_millis(500);
/// The grace that calls have when the process stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// The time limit for the end of the client.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(20);
/// The exit code after a panic.
pub(crate) const PANICKED: i32 = 101;
/// The exit code of a process whose campaign has gone.
const ABANDONED: i32 = 3;
