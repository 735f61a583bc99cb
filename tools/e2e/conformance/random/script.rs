use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use zklock_testkit::wire::{Acl, Id, Request, permissions};

use super::view::Zxids;
use crate::client::world;

/// The actions of the sessions of a run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The number of sessions at a time.
    pub(crate) sessions: usize,
    pub(crate) zxids: Zxids,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    pub(crate) since: Since,
    pub(crate) data: Vec<&'static str>,
    pub(crate) exist: Vec<&'static str>,
    pub(crate) child: Vec<&'static str>,
    pub(crate) persistent: Vec<&'static str>,
    pub(crate) recursive: Vec<&'static str>,
}

/// The transactions that a client has seen before it connected again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Since {
    /// All up to the last reply.
    #[default]
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
    SetAcl(&'static str, Vec<Acl>, i32),
    /// With an ACL.
    CreateFor(Node, Vec<Acl>),
    /// The same in a multi.
    MultiFor(Node, Vec<Acl>),
    /// Proves an identity of the scheme `digest`.
    Auth(&'static str),
    WhoAmI,
    AddWatch(&'static str, i32),
    Sync(&'static str),
    Ping,
    Multi(Vec<Write>),
    MultiRead(Vec<Read>),
    RemoveWatches(&'static str, i32),
    GetEphemerals(&'static str),
    GetAllChildrenNumber(&'static str),
    /// A request with its own paths.
    Exactly(Request),
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

fn watch() -> impl Strategy<Value = Watch> + Clone {
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

fn changes() -> impl Strategy<Value = Ask> {
    prop_oneof![
        12 => node().prop_map(Ask::Create),
        4 => node().prop_map(Ask::Create2),
        2 => select(&NEW[..]).prop_map(Ask::CreateContainer),
        8 => (path(), version()).prop_map(|(path, version)| Ask::Delete(path, version)),
        6 => (any_path(), version()).prop_map(|(path, version)| Ask::SetData(path, version)),
        5 => vec(write(), 0..4).prop_map(Ask::Multi),
    ]
}

fn looks(watch: impl Strategy<Value = Watch> + Clone) -> impl Strategy<Value = Ask> {
    prop_oneof![
        6 => (any_path(), watch.clone()).prop_map(|(path, watch)| Ask::GetData(path, watch)),
        3 => (any_path(), watch.clone()).prop_map(|(path, watch)| Ask::GetChildren(path, watch)),
        6 => (any_path(), watch).prop_map(|(path, watch)| Ask::GetChildren2(path, watch)),
        1 => any_path().prop_map(Ask::GetAcl),
        1 => any_path().prop_map(Ask::Sync),
        1 => Just(Ask::Ping),
        2 => vec(read(), 0..3).prop_map(Ask::MultiRead),
        1 => any_path().prop_map(Ask::GetEphemerals),
        1 => any_path().prop_map(Ask::GetAllChildrenNumber),
    ]
}

/// The subject of a script. Versions of ZooKeeper differ where subjects meet.
#[derive(Clone, Copy, Debug)]
enum Subject {
    OneShotWatches,
    PersistentWatches,
    /// Identities and ACLs that permit anything. `exists` and watches need the permission to read since 3.9.
    Access,
}

impl Subject {
    /// Requests that are sent at once.
    fn asks(self) -> BoxedStrategy<Vec<Ask>> {
        let asks = match self {
            Self::OneShotWatches => {
                let exists = (any_path(), watch()).prop_map(|(path, watch)| Ask::Exists(path, watch));
                let removal = (any_path(), 1..4).prop_map(|(path, kind)| Ask::RemoveWatches(path, kind));
                prop_oneof![15 => changes(), 3 => exists, 1 => removal, 11 => looks(watch())].boxed()
            }
            Self::PersistentWatches => {
                let added = any_path().prop_map(|path| Ask::AddWatch(path, mode(path)));
                let removal = any_path().prop_map(|path| Ask::RemoveWatches(path, ANY_WATCH));
                prop_oneof![6 => changes(), 3 => added, 1 => removal, 2 => looks(Just(Watch::No))].boxed()
            }
            // It is a race whether an identity or an ACL applies to requests that follow at once.
            Self::Access => {
                let created = prop_oneof![
                    4 => (node(), acl()).prop_map(|(node, acl)| Ask::CreateFor(node, acl)),
                    1 => (node(), acl()).prop_map(|(node, acl)| Ask::MultiFor(node, acl)),
                ];
                let replaced = (path(), acl(), version())
                    .prop_map(|(path, acl, version)| Ask::SetAcl(path, acl, version));
                let auth = select(&PROOFS[..]).prop_map(Ask::Auth);
                let looks = prop_oneof![3 => looks(Just(Watch::No)), 2 => any_path().prop_map(Ask::GetAcl)];
                let ask = prop_oneof![
                    4 => changes(), 5 => created, 5 => replaced, 2 => auth, 1 => Just(Ask::WhoAmI), 6 => looks
                ];
                return vec(ask, 1..2).boxed();
            }
        };
        vec(asks, 1..5).boxed()
    }

    fn watches(self) -> BoxedStrategy<Watches> {
        let since = select(&[Since::Last, Since::Last, Since::Start, Since::Nothing][..]);
        let paths = || vec(any_path(), 0..3);
        match self {
            Self::OneShotWatches => (since, paths(), paths(), paths())
                .prop_map(|(since, data, exist, child)| Watches {
                    since,
                    data,
                    exist,
                    child,
                    ..Watches::default()
                })
                .boxed(),
            Self::PersistentWatches => (since, vec(any_path(), 0..5))
                .prop_map(|(since, paths)| {
                    let (recursive, persistent) = paths.into_iter().partition(|path| mode(path) == RECURSIVE);
                    Watches { since, persistent, recursive, ..Watches::default() }
                })
                .boxed(),
            Self::Access => Just(Watches::default()).boxed(),
        }
    }

    fn turn(self, sessions: usize) -> impl Strategy<Value = Turn> {
        let way = select(&[Way::Dropped, Way::Kicked][..]);
        // Sent alone, because it is a race whether the new ACL or the old one applies to requests that follow at once.
        // Everyone may always read, because versions of ZooKeeper differ in the answers to clients that may not.
        let new_acl = (path(), 0..32)
            .prop_map(|(path, bits)| vec![Ask::SetAcl(path, vec![world(bits | permissions::READ)], -1)]);
        prop_oneof![
            20 => (0..sessions, self.asks()).prop_map(|(session, asks)| Turn::Ask { session, asks }),
            1 => (0..sessions, new_acl).prop_map(|(session, asks)| Turn::Ask { session, asks }),
            2 => (0..sessions).prop_map(|session| Turn::Reopen { session }),
            1 => (0..sessions, way, self.watches())
                .prop_map(|(session, way, watches)| Turn::Reattach { session, way, watches }),
        ]
    }
}

const PERSISTENT: i32 = 0;
const RECURSIVE: i32 = 1;
const ANY_WATCH: i32 = 3;

/// Returns the only mode of the persistent watches of a path.
fn mode(path: &str) -> i32 {
    if ["", "/a", "/b/c"].contains(&path) { RECURSIVE } else { PERSISTENT }
}

/// Users and their passwords, one of whom is the superuser.
const PROOFS: [&str; 9] = [
    "user:password",
    "user:password",
    "other:password",
    "user:other",
    "user",
    "",
    ":",
    "user:a:b",
    "super:admin",
];

/// An ACL, most lines of which are valid.
fn acl() -> impl Strategy<Value = Vec<Acl>> {
    let valid: [(&str, &str); 14] = [
        ("world", "anyone"),
        ("world", "anyone"),
        ("auth", ""),
        ("auth", "ignored"),
        // `base64(sha1("user:password"))`.
        ("digest", "user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY="),
        ("digest", "user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY="),
        ("digest", "other:hash"),
        ("ip", "127.0.0.1"),
        ("ip", "127.0.0.2"),
        ("ip", "127.0.0.2/31"),
        ("ip", "127.0.0.2/30"),
        ("ip", "126.0.0.0/7"),
        ("ip", "128.0.0.0/8"),
        ("ip", "1.2.3.4/0"),
    ];
    let invalid: [(&str, &str); 14] = [
        ("world", "somebody"),
        ("", ""),
        ("unknown", "x"),
        ("super", ""),
        ("digest", "user"),
        ("digest", "a:b:c"),
        ("digest", ":"),
        ("ip", "300.0.0.1"),
        ("ip", "1.2.3"),
        ("ip", "localhost"),
        ("ip", "127.0.0.1/33"),
        ("ip", "127.0.0.1/-1"),
        ("ip", "127.0.0.1/x"),
        ("ip", ""),
    ];
    let named = |ids: [(&'static str, &'static str); 14]| {
        select(ids.to_vec()).prop_map(|(scheme, id)| Id::new(scheme, id))
    };
    // kazoo sends a null id.
    let schemes = select(vec![
        None,
        Some("auth"),
        Some("auth"),
        Some("world"),
        Some("digest"),
        Some("ip"),
        Some("unknown"),
    ]);
    let null = schemes.prop_map(|scheme| Id { scheme: scheme.map(str::to_owned), id: None });
    let id = prop_oneof![30 => named(valid), 2 => named(invalid), 2 => null];
    let bits = prop_oneof![10 => select(&[permissions::READ, permissions::ADMIN, permissions::ALL][..]), 10 => 0..32, 1 => select(&[-1, i32::MAX, 32 | permissions::READ][..])];
    vec((bits, id).prop_map(|(bits, id)| Acl::new(bits, id)), 0..4)
}

/// Returns the scripts from which the runs are drawn.
pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let subject = prop_oneof![
        3 => Just(Subject::OneShotWatches),
        1 => Just(Subject::PersistentWatches),
        2 => Just(Subject::Access),
    ];
    let script = |(subject, sessions): (Subject, usize)| {
        vec(subject.turn(sessions), 1..15).prop_map(move |turns| Script {
            sessions,
            zxids: Zxids::Compared,
            turns,
        })
    };
    (subject, 3..5_usize).prop_flat_map(script)
}
