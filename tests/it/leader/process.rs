//! Candidates in their own processes, which are killed, stopped, told to resign, or lose their session.
//!
//! A candidate is this test binary, run for the single test below with its parameters in the environment.
//! While it leads, it writes into a log that all candidates share.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, BufReader};
use zklock::{Client, Config, Leadership};

use crate::support::process::{Orders, Process};
use crate::support::session_end::end_session;
use crate::support::{QUICK_TICK, SOON, Space};

/// The recipes, each with its own election.
const RECIPES: [&str; 2] = ["/selector", "/latch"];
/// The test that runs as a candidate in another process, where its case does not matter.
const CANDIDATE: &str = "leader::process::one_of_three_processes_is_at_work_at_a_time_whatever_ends_its_term";
const LOG: &str = "ZKLOCK_TEST_CANDIDATE_LOG";
const NAME: &str = "ZKLOCK_TEST_CANDIDATE_NAME";
const RECIPE: &str = "ZKLOCK_TEST_CANDIDATE_RECIPE";
const CHANGES: usize = if cfg!(soak) { 100 } else { 4 };
const SESSION: Duration = Duration::from_secs(1);
/// Longer than the lease of such a session, so that a leader whose session was ended by force has stopped by
/// then.
const HANDOVER: Duration = Duration::from_millis(700);
const CANDIDATES: usize = 3;
/// The longest time of a change on a machine that lets every process run. Of ten changes, one may take longer.
const USUAL: Duration = SESSION.saturating_add(Duration::from_secs(2));

/// An entry of the log, which shows that a leader was at work.
struct Deed {
    epoch: u128,
    /// The time in nanoseconds on a clock that all processes share, read before the leader checks that it
    /// leads.
    at: u64,
    name: usize,
    session: i64,
}

impl Deed {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        let (epoch, at) = (word()?.parse().ok()?, word()?.parse().ok()?);
        Some(Self { epoch, at, name: word()?.parse().ok()?, session: word()?.parse().ok()? })
    }
}

fn boot_clock() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).expect("time is positive")
}

async fn work(term: Leadership, client: Client, (log, name): (String, String)) {
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    let epoch = u128::from(term.fencing_token());
    loop {
        let at = boot_clock();
        if let (true, Some(session)) = (term.is_leading(), client.session_id()) {
            log.write_all(format!("{epoch} {at} {name} {session} \n").as_bytes()).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs as a candidate. Each line of the input makes it resign, and the end of the input ends it.
async fn run_for_office((orders, [recipe, log, name]): (Orders, [String; 3])) {
    let config = Config::new(orders.connect).namespace(orders.namespace);
    let client = config.session_timeout(SESSION).tick_time(QUICK_TICK).connect().await.unwrap();
    let election = client.election(&recipe).unwrap().handover(HANDOVER);
    let work = move |term| work(term, client.clone(), (log.clone(), name.clone()));
    if recipe != "/latch" {
        let selector = election.auto_requeue().select(work);
        return obey(|| selector.interrupt()).await;
    }
    let latch = election.latch();
    let leads = async {
        loop {
            let term = latch.leadership().await.unwrap();
            term.run(work(term.clone())).await.unwrap_err();
        }
    };
    tokio::select! {
        () = obey(|| latch.current().iter().for_each(Leadership::resign)) => {}
        () = leads => {}
    }
}

/// Resigns at each line of the input, until the input ends.
async fn obey(resign: impl Fn()) {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    while orders.next_line().await.unwrap().is_some() {
        resign();
    }
}

/// The log, whose file is removed on drop.
struct Log(NamedTempFile);

impl Log {
    fn new() -> Self {
        Self(NamedTempFile::new().unwrap())
    }

    /// Returns the latest entry of the latest leader among those at the end of the log.
    fn latest(&self) -> Option<Deed> {
        let mut file = File::open(self.0.path()).unwrap();
        let length = file.seek(SeekFrom::End(0)).unwrap();
        file.seek(SeekFrom::Start(length.saturating_sub(1_000))).unwrap();
        let mut end = String::new();
        file.read_to_string(&mut end).unwrap();
        // The first of several lines is incomplete.
        let whole = if length > 1_000 { end.split_once('\n')?.1 } else { &end };
        let whole = whole.rsplit_once('\n')?.0;
        whole.lines().filter_map(Deed::parse).max_by_key(|deed| (deed.epoch, deed.at))
    }

    async fn leader_after(&self, epoch: u128) -> Deed {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(deed) = self.latest().filter(|deed| deed.epoch > epoch) {
                return deed;
            }
            assert!(Instant::now() < deadline, "nobody leads");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Checks that leaders worked one after the other with rising epochs, and returns the number of terms.
    fn check(&self) -> usize {
        let text = fs::read_to_string(self.0.path()).unwrap();
        let mut terms: BTreeMap<u128, (u64, u64, usize)> = BTreeMap::new();
        for deed in text.lines().map(|line| Deed::parse(line).expect("lines are written at once")) {
            let (first, last, name) = terms.entry(deed.epoch).or_insert((deed.at, deed.at, deed.name));
            (*first, *last) = ((*first).min(deed.at), (*last).max(deed.at));
            assert_eq!(*name, deed.name, "two leaders in one epoch");
        }
        for ((epoch, (_, last, _)), (next, (first, ..))) in terms.iter().zip(terms.iter().skip(1)) {
            assert!(last < first, "{epoch} was still at work {} ns after {next} began", last - first);
        }
        terms.len()
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Resignation,
    SessionEnd,
    Kill,
    Stop,
}

/// The faults that strike leaders in turn. Most of them need no session timeout, which would take too long for many changes.
const FAULTS: [Fault; 6] =
    [Fault::Resignation, Fault::SessionEnd, Fault::Kill, Fault::Stop, Fault::SessionEnd, Fault::Resignation];

struct Fleet<'a> {
    space: &'a Space,
    recipe: &'a str,
    log: Log,
    candidates: BTreeMap<usize, Process>,
}

impl<'a> Fleet<'a> {
    fn start(space: &'a Space, recipe: &'a str) -> Self {
        let mut fleet = Self { space, recipe, log: Log::new(), candidates: BTreeMap::new() };
        (0..CANDIDATES).for_each(|name| fleet.join(name));
        fleet
    }

    fn join(&mut self, name: usize) {
        let log = self.log.0.path().display().to_string();
        let orders = [(RECIPE, self.recipe.to_owned()), (LOG, log), (NAME, name.to_string())];
        self.candidates.insert(name, Process::start(CANDIDATE, self.space, orders));
    }

    /// Ends the leader's term, and returns the first deed of the next one with the time that the change took.
    async fn strike(&mut self, fault: Fault, leader: &Deed) -> (Deed, Duration) {
        match fault {
            Fault::Resignation => self.candidates.get_mut(&leader.name).unwrap().tell("resign"),
            Fault::SessionEnd => end_session(self.space.server().address(), leader.session),
            Fault::Kill => drop(self.candidates.remove(&leader.name).unwrap()),
            Fault::Stop => self.candidates[&leader.name].signal(Signal::STOP),
        }
        let struck = Instant::now();
        let next = self.log.leader_after(leader.epoch).await;
        (next, struck.elapsed())
    }

    /// Restores three candidates, none of which has a node of an ended session.
    async fn mend(&mut self, fault: Fault, (struck, fresh): (usize, usize)) {
        match fault {
            Fault::Kill => self.join(fresh),
            Fault::Stop => self.candidates[&struck].signal(Signal::CONT),
            Fault::Resignation | Fault::SessionEnd => {}
        }
        self.space.until_queued(self.recipe, CANDIDATES).await;
    }
}

async fn leaders_change(space: &Space, recipe: &str) {
    let mut fleet = Fleet::start(space, recipe);
    let mut leader = fleet.log.leader_after(0).await;
    space.until_queued(recipe, CANDIDATES).await;
    let mut slow = Vec::new();
    for (round, fault) in FAULTS.into_iter().cycle().take(CHANGES).enumerate() {
        let (next, took) = fleet.strike(fault, &leader).await;
        slow.extend((took > USUAL).then_some((fault, took)));
        fleet.mend(fault, (leader.name, CANDIDATES + round)).await;
        leader = fleet.log.latest().filter(|deed| deed.epoch > next.epoch).unwrap_or(next);
    }
    fleet.candidates.clear();
    assert!(fleet.log.check() > CHANGES);
    assert!(slow.len() <= CHANGES.div_ceil(10), "{slow:?}");
    space.until_empty(recipe).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_processes_is_at_work_at_a_time_whatever_ends_its_term() {
    if let Some(orders) = Orders::read([RECIPE, LOG, NAME]) {
        return run_for_office(orders).await;
    }
    let space = Space::quick();
    let [selectors, latches] = RECIPES.map(|recipe| leaders_change(&space, recipe));
    tokio::join!(selectors, latches);
}
