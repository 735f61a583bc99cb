use std::fmt::{self, Debug};
use std::rc::Rc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use zklock_testkit::wire::{
    Acl, AddWatch, CheckVersion, Create, CreateFlags, Delete, Id, Op, Request, SetAcl, SetData, SetWatches,
    WatcherType, permissions,
};

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
    /// The session comes back on another connection, and sets watches again.
    Reattach { session: usize, way: Way, since: Since, watches: Ask<SetWatches> },
}

/// The way in which a session leaves its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// The connection ends first.
    Dropped,
    /// The server ends the connection, because the session has another one.
    Kicked,
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

/// The node of a run.
pub(crate) struct Root(pub(crate) String);

impl Root {
    pub(crate) fn path(&self, below: &str) -> String {
        format!("{}{below}", self.0)
    }

    fn paths(&self, below: &[&str]) -> Vec<String> {
        below.iter().map(|below| self.path(below)).collect()
    }

    pub(crate) fn node(&self, below: &str, flags: CreateFlags) -> Create {
        Create::new(self.path(below), "data", flags)
    }

    fn new_data(&self, below: &str, version: i32) -> SetData {
        SetData { path: self.path(below), data: Some(Bytes::from_static(b"new data")), version }
    }

    pub(crate) fn deletion(&self, below: &str, version: i32) -> Delete {
        Delete { path: self.path(below), version }
    }
}

/// A request, or a part of one, below the node of any run.
#[derive(Clone)]
pub(crate) struct Ask<T = Request>(Rc<dyn Fn(&Root) -> T>);

impl<T> Ask<T> {
    pub(crate) fn new(make: impl Fn(&Root) -> T + 'static) -> Self {
        Self(Rc::new(make))
    }

    pub(crate) fn below(&self, root: &Root) -> T {
        (self.0)(root)
    }
}

impl<T: Debug> Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.below(&Root(String::new())).fmt(f)
    }
}

/// Makes requests of values.
fn asked<V: Clone + 'static, T: Debug + 'static>(
    values: impl Strategy<Value = V>,
    make: fn(&Root, V) -> T,
) -> impl Strategy<Value = Ask<T>> {
    values.prop_map(move |value| Ask::new(move |root| make(root, value.clone())))
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

fn watch() -> impl Strategy<Value = bool> + Clone {
    prop_oneof![2 => Just(true), 1 => Just(false)]
}

/// Returns the path and the flags of a new node.
fn node() -> impl Strategy<Value = (&'static str, CreateFlags)> {
    let plain = (select(&NEW[..]), prop_oneof![4 => Just(0), 3 => Just(1), 1 => Just(4)]);
    let sequential = (select(&PREFIXES[..]), prop_oneof![2 => Just(2), 3 => Just(3)]);
    let unknown = (path(), Just(9));
    prop_oneof![20 => plain, 15 => sequential, 1 => unknown]
        .prop_map(|(path, flags)| (path, CreateFlags(flags)))
}

fn write() -> impl Strategy<Value = Ask<Op>> {
    prop_oneof![
        4 => asked(node(), |root, (path, flags)| Op::Create(root.node(path, flags))),
        2 => asked((path(), version()), |root, (path, version)| Op::Delete(root.deletion(path, version))),
        2 => asked((any_path(), version()), |root, (path, version)| Op::SetData(root.new_data(path, version))),
        2 => asked((any_path(), version()), |root, (path, version)| {
            Op::Check(CheckVersion { path: root.path(path), version })
        }),
    ]
}

fn read() -> impl Strategy<Value = Ask<Op>> {
    prop_oneof![
        asked(any_path(), |root, path| Op::GetData { path: root.path(path), watch: false }),
        asked(any_path(), |root, path| Op::GetChildren { path: root.path(path), watch: false }),
    ]
}

/// Returns the operations of a transaction.
fn all(ops: &[Ask<Op>], root: &Root) -> Vec<Op> {
    ops.iter().map(|op| op.below(root)).collect()
}

fn changes() -> impl Strategy<Value = Ask> {
    prop_oneof![
        12 => asked(node(), |root, (path, flags)| Request::Create(root.node(path, flags))),
        4 => asked(node(), |root, (path, flags)| Request::Create2(root.node(path, flags))),
        // Only with the flag of a container. With that of an ephemeral node, it would be ephemeral for some of the
        // requests that follow at once, and not for others.
        2 => asked(select(&NEW[..]), |root, path| {
            Request::CreateContainer(root.node(path, CreateFlags::CONTAINER))
        }),
        8 => asked((path(), version()), |root, (path, version)| Request::Delete(root.deletion(path, version))),
        6 => asked((any_path(), version()), |root, (path, version)| Request::SetData(root.new_data(path, version))),
        5 => asked(vec(write(), 0..4), |root, ops| Request::Multi(all(&ops, root))),
    ]
}

fn looks(watch: impl Strategy<Value = bool> + Clone) -> impl Strategy<Value = Ask> {
    let at = || (any_path(), watch.clone());
    prop_oneof![
        6 => asked(at(), |root, (path, watch)| Request::GetData { path: root.path(path), watch }),
        3 => asked(at(), |root, (path, watch)| Request::GetChildren { path: root.path(path), watch }),
        6 => asked(at(), |root, (path, watch)| Request::GetChildren2 { path: root.path(path), watch }),
        1 => asked(any_path(), |root, path| Request::GetAcl { path: root.path(path) }),
        1 => asked(any_path(), |root, path| Request::Sync { path: root.path(path) }),
        1 => Just(Ask::new(|_| Request::Ping)),
        2 => asked(vec(read(), 0..3), |root, ops| Request::MultiRead(all(&ops, root))),
        1 => asked(any_path(), |root, path| Request::GetEphemerals { prefix: root.path(path) }),
        1 => asked(any_path(), |root, path| Request::GetAllChildrenNumber { path: root.path(path) }),
    ]
}

fn removal(kinds: impl Strategy<Value = i32>) -> impl Strategy<Value = Ask> {
    asked((any_path(), kinds), |root, (path, kind)| Request::RemoveWatches {
        path: root.path(path),
        kind: WatcherType(kind),
    })
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
                let exists = asked((any_path(), watch()), |root, (path, watch)| Request::Exists {
                    path: root.path(path),
                    watch,
                });
                prop_oneof![15 => changes(), 3 => exists, 1 => removal(1..4), 11 => looks(watch())].boxed()
            }
            Self::PersistentWatches => {
                let added = asked(any_path(), |root, path| {
                    Request::AddWatch(AddWatch { path: root.path(path), mode: mode(path) })
                });
                let removal = removal(Just(ANY_WATCH));
                prop_oneof![6 => changes(), 3 => added, 1 => removal, 2 => looks(Just(false))].boxed()
            }
            // It is a race whether an identity or an ACL applies to requests that follow at once.
            Self::Access => {
                let of = |root: &Root, (path, flags), acl| Create { acl, ..root.node(path, flags) };
                let created = prop_oneof![
                    4 => (node(), acl()).prop_map(move |(node, acl)| {
                        Ask::new(move |root| Request::Create(of(root, node, acl.clone())))
                    }),
                    1 => (node(), acl()).prop_map(move |(node, acl)| {
                        Ask::new(move |root| Request::Multi(vec![Op::Create(of(root, node, acl.clone()))]))
                    }),
                ];
                let replaced = asked((path(), acl(), version()), |root, (path, acl, version)| {
                    Request::SetAcl(SetAcl { path: root.path(path), acl, version })
                });
                let auth = asked(select(&PROOFS[..]), |_, proof| Request::Auth {
                    scheme: "digest".into(),
                    auth: Some(Bytes::from_static(proof.as_bytes())),
                });
                let own = Just(Ask::new(|_| Request::WhoAmI));
                let acls = asked(any_path(), |root, path| Request::GetAcl { path: root.path(path) });
                let looks = prop_oneof![3 => looks(Just(false)), 2 => acls];
                let ask = prop_oneof![
                    4 => changes(), 5 => created, 5 => replaced, 2 => auth, 1 => own, 6 => looks
                ];
                return vec(ask, 1..2).boxed();
            }
        };
        vec(asks, 1..5).boxed()
    }

    fn watches(self) -> BoxedStrategy<Ask<SetWatches>> {
        let paths = |most| vec(any_path(), 0..most);
        match self {
            Self::OneShotWatches => {
                let make = |root: &Root, (data, exist, child): (Vec<_>, Vec<_>, Vec<_>)| SetWatches {
                    data: root.paths(&data),
                    exist: root.paths(&exist),
                    child: root.paths(&child),
                    ..SetWatches::default()
                };
                asked((paths(3), paths(3), paths(3)), make).boxed()
            }
            Self::PersistentWatches => {
                let make = |root: &Root, paths: Vec<&str>| {
                    let (recursive, persistent): (Vec<_>, Vec<_>) =
                        paths.into_iter().partition(|path| mode(path) == RECURSIVE);
                    SetWatches {
                        persistent: root.paths(&persistent),
                        persistent_recursive: root.paths(&recursive),
                        ..SetWatches::default()
                    }
                };
                asked(paths(5), make).boxed()
            }
            Self::Access => Just(Ask::new(|_| SetWatches::default())).boxed(),
        }
    }

    fn turn(self, sessions: usize) -> impl Strategy<Value = Turn> {
        let way = select(&[Way::Dropped, Way::Kicked][..]);
        // Sent alone, because it is a race whether the new ACL or the old one applies to requests that follow at once.
        // Everyone may always read, because versions of ZooKeeper differ in the answers to clients that may not.
        let new_acl = asked((path(), 0..32), |root, (path, bits)| {
            let acl = vec![world(bits | permissions::READ)];
            Request::SetAcl(SetAcl { path: root.path(path), acl, version: -1 })
        });
        let since = select(&[Since::Last, Since::Last, Since::Start, Since::Nothing][..]);
        prop_oneof![
            20 => (0..sessions, self.asks()).prop_map(|(session, asks)| Turn::Ask { session, asks }),
            1 => (0..sessions, new_acl).prop_map(|(session, ask)| Turn::Ask { session, asks: vec![ask] }),
            2 => (0..sessions).prop_map(|session| Turn::Reopen { session }),
            1 => (0..sessions, way, since, self.watches())
                .prop_map(|(session, way, since, watches)| Turn::Reattach { session, way, since, watches }),
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
