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

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) sessions: usize,
    pub(crate) zxids: Zxids,
    pub(crate) turns: Vec<Turn>,
}

/// The action of one session, while the others wait.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// The session sends requests at once.
    Ask { session: usize, requests: Vec<Request> },
    /// The session ends, and another one takes its place.
    Reopen { session: usize },
    /// The session comes back on another connection, and sets watches again.
    Reattach { session: usize, way: Way, since: Since, watches: SetWatches },
}

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

/// The node of each run, which is without children when the run begins.
pub(crate) const ROOT: &str = "/run";

/// Few enough for the sessions to meet, with names that a counter may produce.
pub(crate) const PATHS: &str = "/run/a /run/b /run/a/c /run/a/d /run/b/c /run/a/c/e /run/s-0000000000 \
                                /run/s-0000000001 /run/a/s-0000000000 /run/a/s-0000000001 \
                                /run/a/s-0000000002 /run/b/s-0000000001";

/// The paths of new nodes, some of which cannot be created.
const NEW: &str = "/run/a /run/a /run/b /run/b /run/a/c /run/a/d /run/b/c /run/a/c/e /run/. /run/a/ /run/c/d/e \
                   /run/a/s-0000000001";

const PREFIXES: &str = "/run/s- /run/a/s- /run/a/s- /run/b/s- /run/a/ /run/c/s-";

/// One of these words.
fn one_of(words: &'static str) -> impl Strategy<Value = &'static str> {
    select(words.split(' ').collect::<Vec<_>>())
}

fn path() -> impl Strategy<Value = String> {
    one_of(PATHS).prop_map(str::to_owned)
}

/// Returns a path, or the run's own node.
fn any_path() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just(ROOT.to_owned()), 6 => path()]
}

fn version() -> impl Strategy<Value = i32> {
    let never = select(&[-2, i32::MIN, i32::MAX][..]);
    prop_oneof![20 => Just(-1), 15 => Just(0), 10 => Just(1), 5 => Just(2), 1 => never]
}

fn watch() -> impl Strategy<Value = bool> + Clone {
    prop_oneof![2 => Just(true), 1 => Just(false)]
}

fn node() -> impl Strategy<Value = Create> {
    let plain = (one_of(NEW), prop_oneof![4 => Just(0), 3 => Just(1), 1 => Just(4)]);
    let sequential = (one_of(PREFIXES), prop_oneof![2 => Just(2), 3 => Just(3)]);
    let unknown = (one_of(PATHS), Just(9));
    prop_oneof![20 => plain, 15 => sequential, 1 => unknown]
        .prop_map(|(path, flags)| Create::new(path, "data", CreateFlags(flags)))
}

fn deletion() -> impl Strategy<Value = Delete> {
    (path(), version()).prop_map(|(path, version)| Delete { path, version })
}

fn new_data() -> impl Strategy<Value = SetData> {
    let data = Some(Bytes::from_static(b"new data"));
    (any_path(), version()).prop_map(move |(path, version)| SetData { path, data: data.clone(), version })
}

fn write() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => node().prop_map(Op::Create),
        2 => deletion().prop_map(Op::Delete),
        2 => new_data().prop_map(Op::SetData),
        2 => (any_path(), version()).prop_map(|(path, version)| Op::Check(CheckVersion { path, version })),
    ]
}

fn read() -> impl Strategy<Value = Op> {
    prop_oneof![
        any_path().prop_map(|path| Op::GetData { path, watch: false }),
        any_path().prop_map(|path| Op::GetChildren { path, watch: false }),
    ]
}

fn changes() -> impl Strategy<Value = Request> {
    // Only with the flag of a container. With that of an ephemeral node, it would be ephemeral for some of the requests
    // that follow at once, and not for others.
    let container = |path| Request::CreateContainer(Create::new(path, "data", CreateFlags::CONTAINER));
    prop_oneof![
        12 => node().prop_map(Request::Create),
        4 => node().prop_map(Request::Create2),
        2 => one_of(NEW).prop_map(container),
        8 => deletion().prop_map(Request::Delete),
        6 => new_data().prop_map(Request::SetData),
        5 => vec(write(), 0..4).prop_map(Request::Multi),
    ]
}

fn looks(watch: impl Strategy<Value = bool> + Clone) -> impl Strategy<Value = Request> {
    let at = || (any_path(), watch.clone());
    prop_oneof![
        6 => at().prop_map(|(path, watch)| Request::GetData { path, watch }),
        3 => at().prop_map(|(path, watch)| Request::GetChildren { path, watch }),
        6 => at().prop_map(|(path, watch)| Request::GetChildren2 { path, watch }),
        1 => any_path().prop_map(|path| Request::GetAcl { path }),
        1 => any_path().prop_map(|path| Request::Sync { path }),
        1 => Just(Request::Ping),
        2 => vec(read(), 0..3).prop_map(Request::MultiRead),
        1 => any_path().prop_map(|prefix| Request::GetEphemerals { prefix }),
        1 => any_path().prop_map(|path| Request::GetAllChildrenNumber { path }),
    ]
}

fn removal(kinds: impl Strategy<Value = i32>) -> impl Strategy<Value = Request> {
    (any_path(), kinds).prop_map(|(path, kind)| Request::RemoveWatches { path, kind: WatcherType(kind) })
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
    fn requests(self) -> BoxedStrategy<Vec<Request>> {
        match self {
            Self::OneShotWatches => {
                let exists = (any_path(), watch()).prop_map(|(path, watch)| Request::Exists { path, watch });
                let request =
                    prop_oneof![15 => changes(), 3 => exists, 1 => removal(1..4), 11 => looks(watch())];
                vec(request, 1..5).boxed()
            }
            Self::PersistentWatches => {
                let added = any_path().prop_map(|path| {
                    let mode = mode(&path);
                    Request::AddWatch(AddWatch { path, mode })
                });
                let removal = removal(Just(ANY_WATCH));
                vec(prop_oneof![6 => changes(), 3 => added, 1 => removal, 2 => looks(Just(false))], 1..5)
                    .boxed()
            }
            // It is a race whether an identity or an ACL applies to requests that follow at once.
            Self::Access => vec(with_acls(), 1..2).boxed(),
        }
    }

    fn watches(self) -> BoxedStrategy<SetWatches> {
        let paths = |most| vec(any_path(), 0..most);
        match self {
            Self::OneShotWatches => (paths(3), paths(3), paths(3))
                .prop_map(|(data, exist, child)| SetWatches { data, exist, child, ..SetWatches::default() })
                .boxed(),
            Self::PersistentWatches => paths(5)
                .prop_map(|paths| {
                    let (persistent_recursive, persistent) =
                        paths.into_iter().partition(|path| mode(path) == RECURSIVE);
                    SetWatches { persistent, persistent_recursive, ..SetWatches::default() }
                })
                .boxed(),
            Self::Access => Just(SetWatches::default()).boxed(),
        }
    }

    fn turn(self, sessions: usize) -> impl Strategy<Value = Turn> {
        let way = select(&[Way::Dropped, Way::Kicked][..]);
        // Sent alone, because it is a race whether the new ACL or the old one applies to requests that follow at once.
        // Everyone may always read, because versions of ZooKeeper differ in the answers to clients that may not.
        let new_acl = (path(), 0..32).prop_map(|(path, bits)| {
            let acl = vec![world(bits | permissions::READ)];
            vec![Request::SetAcl(SetAcl { path, acl, version: -1 })]
        });
        let since = select(&[Since::Last, Since::Last, Since::Start, Since::Nothing][..]);
        let requests = prop_oneof![20 => self.requests(), 1 => new_acl];
        prop_oneof![
            21 => (0..sessions, requests).prop_map(|(session, requests)| Turn::Ask { session, requests }),
            2 => (0..sessions).prop_map(|session| Turn::Reopen { session }),
            1 => (0..sessions, way, since, self.watches())
                .prop_map(|(session, way, since, watches)| Turn::Reattach { session, way, since, watches }),
        ]
    }
}

/// Returns requests about identities and ACLs, and others.
fn with_acls() -> impl Strategy<Value = Request> {
    let node = || (node(), acl()).prop_map(|(node, acl)| Create { acl, ..node });
    let created = prop_oneof![
        4 => node().prop_map(Request::Create),
        1 => node().prop_map(|create| Request::Multi(vec![Op::Create(create)])),
    ];
    let replaced = (path(), acl(), version())
        .prop_map(|(path, acl, version)| Request::SetAcl(SetAcl { path, acl, version }));
    let auth = one_of(PROOFS).prop_map(|proof| Request::Auth {
        scheme: "digest".into(),
        auth: Some(Bytes::from_static(proof.as_bytes())),
    });
    let acls = any_path().prop_map(|path| Request::GetAcl { path });
    let looks = prop_oneof![3 => looks(Just(false)), 2 => acls];
    prop_oneof![
        4 => changes(), 5 => created, 5 => replaced, 2 => auth, 1 => Just(Request::WhoAmI), 6 => looks
    ]
}

const PERSISTENT: i32 = 0;
const RECURSIVE: i32 = 1;
const ANY_WATCH: i32 = 3;

/// Returns the only mode of the persistent watches of a path.
fn mode(path: &str) -> i32 {
    if ["/run", "/run/a", "/run/b/c"].contains(&path) { RECURSIVE } else { PERSISTENT }
}

/// Users and their passwords, one of whom is the superuser.
const PROOFS: &str = "user:password user:password other:password user:other user  : user:a:b super:admin";

/// An ACL, most lines of which are valid.
fn acl() -> impl Strategy<Value = Vec<Acl>> {
    // Some are more frequent. The hash is `base64(sha1("user:password"))`.
    let valid = "world:anyone world:anyone auth: auth:ignored digest:user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY= \
                 digest:user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY= digest:other:hash ip:127.0.0.1 ip:127.0.0.2 \
                 ip:127.0.0.2/31 ip:127.0.0.2/30 ip:126.0.0.0/7 ip:128.0.0.0/8 ip:1.2.3.4/0";
    let invalid = "world:somebody : unknown:x super: digest:user digest:a:b:c digest:: ip:300.0.0.1 ip:1.2.3 \
                   ip:localhost ip:127.0.0.1/33 ip:127.0.0.1/-1 ip:127.0.0.1/x ip:";
    let named = |ids: &'static str| {
        one_of(ids).prop_map(|id| {
            let (scheme, id) = id.split_once(':').expect("a scheme and an id");
            Id::new(scheme, id)
        })
    };
    // kazoo sends a null id.
    let schemes = select(vec!["auth", "auth", "world", "digest", "ip", "unknown"]);
    let schemes = prop_oneof![1 => Just(None), 6 => schemes.prop_map(Some)];
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
