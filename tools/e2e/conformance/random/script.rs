use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The actions of the sessions of a run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The number of sessions at a time.
    pub(crate) sessions: usize,
    /// Their actions, one after the other.
    pub(crate) turns: Vec<Turn>,
}

/// The action of one session, while the others wait.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// The session sends requests at once.
    Ask { session: usize, asks: Vec<Ask> },
    /// The session ends, and another one takes its place.
    Reopen { session: usize },
    /// The session comes back on another connection.
    Reattach { session: usize, way: Way, watches: Watches },
}

/// The way in which a session leaves its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// The connection ends first.
    Dropped,
    /// The server ends the connection, because the session has another one.
    Kicked,
}

/// The watches that are set again.
#[derive(Clone, Debug)]
pub(crate) struct Watches {
    pub(crate) since: Since,
    pub(crate) data: Vec<&'static str>,
    pub(crate) exist: Vec<&'static str>,
    pub(crate) child: Vec<&'static str>,
}

/// The transactions that a client has seen before it connected again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    /// All up to the last reply.
    Last,
    /// None of this run.
    Start,
    /// None.
    Nothing,
}

/// A request, with paths below the run's own node.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Create(Node),
    Create2(Node),
    /// Only with the flag of a container. With that of an ephemeral node, it would be ephemeral for some of
    /// the requests that follow at once, and not for others.
    CreateContainer(&'static str),
    Delete(&'static str, i32),
    SetData(&'static str, i32),
    Exists(&'static str, Watch),
    GetData(&'static str, Watch),
    GetChildren(&'static str, Watch),
    GetChildren2(&'static str, Watch),
    GetAcl(&'static str),
    SetAcl(&'static str, i32),
    Sync(&'static str),
    Ping,
    Multi(Vec<Write>),
    MultiRead(Vec<Read>),
    RemoveWatches(&'static str, i32),
    GetEphemerals(&'static str),
    GetAllChildrenNumber(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    Set,
    No,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) path: &'static str,
    pub(crate) flags: i32,
}

/// An operation of a multi.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create(Node),
    Delete(&'static str, i32),
    SetData(&'static str, i32),
    Check(&'static str, i32),
}

/// An operation of a multi-read.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Data(&'static str),
    Children(&'static str),
}

/// Few enough for the sessions to meet, with names that a counter may produce.
pub(crate) const PATHS: [&str; 12] = [
    "/a",
    "/b",
    "/a/c",
    "/a/d",
    "/b/c",
    "/a/c/e",
    "/s-0000000000",
    "/s-0000000001",
    "/a/s-0000000000",
    "/a/s-0000000001",
    "/a/s-0000000002",
    "/b/s-0000000001",
];

/// The paths of new nodes, some of which cannot be created.
const NEW: [&str; 12] =
    ["/a", "/a", "/b", "/b", "/a/c", "/a/d", "/b/c", "/a/c/e", "/.", "/a/", "/c/d/e", "/a/s-0000000001"];

const PREFIXES: [&str; 6] = ["/s-", "/a/s-", "/a/s-", "/b/s-", "/a/", "/c/s-"];

fn path() -> impl Strategy<Value = &'static str> {
    select(&PATHS[..])
}

/// Returns a path, or the run's own node.
fn any_path() -> impl Strategy<Value = &'static str> {
    prop_oneof![1 => Just(""), 6 => path()]
}

fn version() -> impl Strategy<Value = i32> {
    let never = select(&[-2, i32::MIN, i32::MAX][..]);
    prop_oneof![20 => Just(-1), 15 => Just(0), 10 => Just(1), 5 => Just(2), 1 => never]
}

fn watch() -> impl Strategy<Value = Watch> {
    prop_oneof![2 => Just(Watch::Set), 1 => Just(Watch::No)]
}

fn node() -> impl Strategy<Value = Node> {
    let plain = (select(&NEW[..]), prop_oneof![4 => Just(0), 3 => Just(1), 1 => Just(4)]);
    let sequential = (select(&PREFIXES[..]), prop_oneof![2 => Just(2), 3 => Just(3)]);
    prop_oneof![
        20 => plain.prop_map(|(path, flags)| Node { path, flags }),
        15 => sequential.prop_map(|(path, flags)| Node { path, flags }),
        1 => path().prop_map(|path| Node { path, flags: 9 }),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => node().prop_map(Write::Create),
        2 => (path(), version()).prop_map(|(path, version)| Write::Delete(path, version)),
        2 => (any_path(), version()).prop_map(|(path, version)| Write::SetData(path, version)),
        2 => (any_path(), version()).prop_map(|(path, version)| Write::Check(path, version)),
    ]
}

fn read() -> impl Strategy<Value = Read> {
    prop_oneof![any_path().prop_map(Read::Data), any_path().prop_map(Read::Children)]
}

fn ask() -> impl Strategy<Value = Ask> {
    let writes = prop_oneof![
        12 => node().prop_map(Ask::Create),
        4 => node().prop_map(Ask::Create2),
        2 => select(&NEW[..]).prop_map(Ask::CreateContainer),
        8 => (path(), version()).prop_map(|(path, version)| Ask::Delete(path, version)),
        6 => (any_path(), version()).prop_map(|(path, version)| Ask::SetData(path, version)),
        5 => vec(write(), 0..4).prop_map(Ask::Multi),
    ];
    let reads = prop_oneof![
        6 => (any_path(), watch()).prop_map(|(path, watch)| Ask::Exists(path, watch)),
        6 => (any_path(), watch()).prop_map(|(path, watch)| Ask::GetData(path, watch)),
        3 => (any_path(), watch()).prop_map(|(path, watch)| Ask::GetChildren(path, watch)),
        6 => (any_path(), watch()).prop_map(|(path, watch)| Ask::GetChildren2(path, watch)),
        1 => any_path().prop_map(Ask::GetAcl),
        1 => any_path().prop_map(Ask::Sync),
        1 => Just(Ask::Ping),
        2 => vec(read(), 0..3).prop_map(Ask::MultiRead),
        2 => (any_path(), 1..4).prop_map(|(path, kind)| Ask::RemoveWatches(path, kind)),
        1 => any_path().prop_map(Ask::GetEphemerals),
        1 => any_path().prop_map(Ask::GetAllChildrenNumber),
    ];
    prop_oneof![writes, reads]
}

/// Sent alone, because it is a race whether the new ACL or the old one applies to requests that follow at
/// once.
fn new_acl() -> impl Strategy<Value = Vec<Ask>> {
    (path(), 0..32).prop_map(|(path, permissions)| vec![Ask::SetAcl(path, permissions)])
}

fn watches() -> impl Strategy<Value = Watches> {
    let since = select(&[Since::Last, Since::Last, Since::Start, Since::Nothing][..]);
    let paths = || vec(any_path(), 0..3);
    let all = (since, paths(), paths(), paths());
    all.prop_map(|(since, data, exist, child)| Watches { since, data, exist, child })
}

fn turn(sessions: usize) -> impl Strategy<Value = Turn> {
    let way = || select(&[Way::Dropped, Way::Kicked][..]);
    prop_oneof![
        20 => (0..sessions, vec(ask(), 1..5)).prop_map(|(session, asks)| Turn::Ask { session, asks }),
        1 => (0..sessions, new_acl()).prop_map(|(session, asks)| Turn::Ask { session, asks }),
        2 => (0..sessions).prop_map(|session| Turn::Reopen { session }),
        1 => (0..sessions, way(), watches())
            .prop_map(|(session, way, watches)| Turn::Reattach { session, way, watches }),
    ]
}

/// Returns the scripts from which the runs are drawn.
pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let script = |sessions| vec(turn(sessions), 1..15).prop_map(move |turns| Script { sessions, turns });
    (3..5_usize).prop_flat_map(script)
}
