//! Scripts of what random ones do not ask, or too seldom: a list of requests for each subject.

use bytes::Bytes;
use zklock_testkit::wire::{
    Acl, AddWatch, CheckVersion, Create, CreateFlags, Delete, Id, Op, Opcode, Record, Request, SetAcl,
    SetData, SetWatches, WatcherType, Writer, permissions,
};

use super::script::{ROOT, Turn};
use crate::client::world;

/// A subject, and the turns of two sessions below a node.
pub(super) type Subject = (&'static str, fn() -> Vec<Turn>);

pub(super) const SUBJECTS: [Subject; 10] = [
    ("flags", flags),
    ("data", data),
    ("paths", paths),
    ("reads", reads),
    ("queues", queues),
    ("access", access),
    ("one-shot watches", one_shot_watches),
    ("persistent watches", persistent_watches),
    ("statistics", statistics),
    ("written statistics", written_statistics),
];

/// Their answers have zxids that differ, because some of them are transactions of a real server only.
pub(super) const MALFORMED: Subject = ("malformed requests", malformed);

fn path(below: &str) -> String {
    format!("{ROOT}{below}")
}

fn node(below: &str, flags: CreateFlags) -> Create {
    Create::new(path(below), "data", flags)
}

fn create(below: &str) -> Request {
    Request::Create(node(below, CreateFlags::PERSISTENT))
}

fn create_for(below: &str, acl: Vec<Acl>) -> Request {
    Request::Create(Create { acl, ..node(below, CreateFlags::PERSISTENT) })
}

fn deletion(below: &str) -> Delete {
    Delete { path: path(below), version: -1 }
}

fn delete(below: &str) -> Request {
    Request::Delete(deletion(below))
}

fn set(below: &str, data: &'static str) -> Request {
    set_at(path(below), data)
}

fn set_at(path: String, data: &'static str) -> Request {
    Request::SetData(SetData { path, data: Some(Bytes::from(data)), version: -1 })
}

fn get(below: &str) -> Request {
    Request::GetData { path: path(below), watch: false }
}

fn watch_data(below: &str) -> Request {
    Request::GetData { path: path(below), watch: true }
}

fn watch_children(below: &str) -> Request {
    Request::GetChildren { path: path(below), watch: true }
}

fn watch_always(below: &str, mode: i32) -> Request {
    Request::AddWatch(AddWatch { path: path(below), mode })
}

fn children(below: &str) -> Request {
    Request::GetChildren2 { path: path(below), watch: false }
}

/// A session sends each request after the answer to the one before.
fn by(session: usize, requests: impl IntoIterator<Item = Request>) -> Vec<Turn> {
    requests.into_iter().map(|request| Turn::Ask { session, requests: vec![request] }).collect()
}

/// Nodes of every kind by every operation, and those that are left when the session has ended.
fn flags() -> Vec<Turn> {
    let all = (-1..10).chain([i32::MIN, i32::MAX]).map(CreateFlags);
    let mut requests = Vec::new();
    for flags in all {
        let name = |operation: usize| format!("/{}-{operation}-", flags.0);
        let new = |operation| node(&name(operation), flags);
        requests.extend([
            Request::Create(new(0)),
            Request::Create2(new(1)),
            Request::CreateContainer(new(2)),
            Request::Create(node("/no/a", flags)),
            Request::Create(Create::new(path("/"), "", flags)),
            Request::Create(Create::new("a", "", flags)),
        ]);
        // The servers differ in what is wrong with a time to live that a transaction does not name.
        if ![5, 6].contains(&flags.0) {
            requests.push(Request::Multi(vec![Op::Create(new(3))]));
        }
        // A negative time to live means none, and a node without one ends the server's connection.
        let negative = [-1, i64::MIN].into_iter().filter(|_| flags.0 > 4);
        let positive = [0, 3_600_000, 0xff_ffff_ffff, 1 << 40];
        for (number, ttl) in positive.into_iter().chain(negative).enumerate() {
            requests.push(Request::CreateTtl { create: new(10 + number), ttl });
            requests.push(Request::Multi(vec![Op::CreateTtl { create: new(20 + number), ttl }]));
        }
    }
    let container = node("/container", CreateFlags::CONTAINER);
    requests.push(Request::Multi(vec![Op::CreateContainer(container)]));
    requests.extend([Request::GetEphemerals { prefix: path("") }, children("")]);
    let mut turns = by(0, requests);
    turns.push(Turn::Reopen { session: 0 });
    turns.extend(by(0, [children("")]));
    turns
}

fn data() -> Vec<Turn> {
    let any: Vec<u8> = (0..=255).collect();
    let datas = [None, Some(Bytes::new()), Some(any.into()), Some(vec![b'x'; 1_000_000].into())];
    let requests = datas.into_iter().enumerate().flat_map(|(number, data)| {
        let name = format!("/{number}");
        let new = Create { data: data.clone(), ..node(&name, CreateFlags::PERSISTENT) };
        let set = SetData { path: path("/a"), data, version: -1 };
        [Request::Create(new), get(&name), Request::SetData(set), get("/a")]
    });
    by(0, [create("/a")].into_iter().chain(requests))
}

/// Paths that only some requests accept.
fn paths() -> Vec<Turn> {
    let characters = "\0\u{1}\n\u{1f}\u{7f}\u{9f}\u{a0}\u{d7ff}\u{e000}\u{f8ff}\u{f900}\u{fff0}\u{ffff}😀 ~ä";
    let of = |c: char| [format!("/{c}"), format!("/a{c}"), format!("/a{c}b")];
    let below = ["/", "//a", "/.", "/..", "/./a", "/a/../b", "/a/", "/...", "/.a", "/a.", "/a..b", "/..a"];
    let below = below.into_iter().map(str::to_owned).chain(characters.chars().flat_map(of));
    let others = ["", "a", ".", "a/b", "//", "///", "\0", "/"].map(str::to_owned);
    let paths = below.map(|below| path(&below)).chain(others);
    let requests = paths.flat_map(|path| {
        let path = || path.clone();
        let set_acl = |acl| Request::SetAcl(SetAcl { path: path(), acl, version: -1 });
        let check = Op::Check(CheckVersion { path: path(), version: -1 });
        let create = |flags| Create::new(path(), "", flags);
        [
            set_at(path(), ""),
            set_acl(vec![Acl::open()]),
            set_acl(vec![]),
            Request::Multi(vec![check]),
            Request::Create(create(CreateFlags::EPHEMERAL_SEQUENTIAL)),
            Request::Multi(vec![Op::Create(create(CreateFlags::PERSISTENT))]),
            Request::Create(create(CreateFlags::PERSISTENT)),
            Request::Exists { path: path(), watch: false },
            Request::GetData { path: path(), watch: false },
            Request::GetChildren { path: path(), watch: false },
            Request::GetChildren2 { path: path(), watch: false },
            Request::GetAcl { path: path() },
            Request::Delete(Delete { path: path(), version: -1 }),
        ]
    });
    let kept = ["/zookeeper", "/zookeeper/quota", "/zookeeper/config"];
    let deletes = kept.map(|path| Request::Delete(Delete { path: path.into(), version: -1 }));
    by(
        0,
        requests
            .chain(deletes)
            .chain([children(""), Request::GetChildren { path: "/zookeeper".into(), watch: false }]),
    )
}

/// Several reads at once, the ephemeral nodes of a session, and the number of all descendants.
fn reads() -> Vec<Turn> {
    let nodes = ["/a", "/a/b", "/a/b/c", "/ab"].map(create);
    let ephemeral = |name| Request::Create(node(name, CreateFlags::EPHEMERAL));
    let mut turns = by(0, nodes.into_iter().chain([ephemeral("/ab/c"), ephemeral("/d")]));
    turns.extend(by(1, [ephemeral("/e")]));
    let number = |name| Request::GetAllChildrenNumber { path: path(name) };
    let prefixes = ["/a", "/ab", "/ab/", "/ab/c", "/b", "/e"].map(path).into_iter();
    let prefixes = prefixes.chain(["", " ", "/", " / "].map(str::to_owned));
    let read = || Op::GetData { path: path("/a"), watch: true };
    let list = Op::GetChildren { path: path(""), watch: true };
    let requests = prefixes.map(|prefix| Request::GetEphemerals { prefix });
    let requests = requests.chain(["", "/a", "/a/b", "/a/b/c", "/no"].map(number));
    let syncs = ["/", "/no", "", "no path"].map(|path| Request::Sync { path: path.into() });
    let watched = [Request::MultiRead(vec![read(), list]), set("/a", "x"), delete("/d")];
    turns.extend(by(0, requests.chain(syncs).chain(watched)));
    turns.extend(by(1, [Request::GetEphemerals { prefix: "/".into() }]));
    turns
}

/// A queue that is created together with its first contender, as zklock takes a lock whose node does not exist.
fn queues() -> Vec<Turn> {
    let all = || vec![Acl::open()];
    let only = |bits: i32| vec![world(bits)];
    let without = |bit: i32| vec![world(permissions::ALL & !bit)];
    let take = |queue: &str, number: i32, acl: Vec<Acl>, contender: Vec<Acl>| {
        let contended = path(&format!("{queue}/c-lock-{number:010}"));
        Request::Multi(vec![
            Op::CreateContainer(Create { acl, ..node(queue, CreateFlags::CONTAINER) }),
            Op::Create(Create {
                acl: contender,
                ..node(&format!("{queue}/c-lock-"), CreateFlags::EPHEMERAL_SEQUENTIAL)
            }),
            Op::SetData(SetData { path: contended, data: Some(Bytes::from("me")), version: -1 }),
        ])
    };
    let exists = |below: &str| Request::Exists { path: path(below), watch: true };
    let watches = [exists("/q"), exists("/q/c-lock-0000000000"), watch_children("")];
    let mut turns = by(1, watches);
    let requests = [
        take("/q", 1, all(), all()),
        take("/no/q", 0, all(), all()),
        take("/q", 0, without(permissions::CREATE), all()),
        take("/q", 0, all(), without(permissions::WRITE)),
        take("/q", 0, all(), all()),
        take("/q", 1, all(), all()),
        children("/q"),
        create_for("/p", without(permissions::CREATE)),
        take("/p/q", 0, all(), all()),
        create_for("/r", only(permissions::CREATE)),
        take("/r/q", 0, only(permissions::CREATE), only(permissions::WRITE)),
    ];
    turns.extend(by(0, requests));
    turns.extend(by(1, [take("/q", 0, all(), all())]));
    turns
}

/// Identities that prove nothing, and a node that only the superuser may read.
fn access() -> Vec<Turn> {
    let auth = |scheme: &str, proof: &'static str| Request::Auth {
        scheme: scheme.into(),
        auth: Some(Bytes::from(proof)),
    };
    let of_session = || vec![Acl::new(permissions::ALL, Id::new("auth", ""))];
    let mut turns = by(
        0,
        [
            Request::WhoAmI,
            auth("ip", ""),
            create_for("/a", of_session()),
            Request::WhoAmI,
            create_for("/b", vec![world(permissions::WRITE)]),
            Request::GetData { path: path("/b"), watch: true },
            watch_children("/b"),
            Request::GetChildren2 { path: path("/b"), watch: true },
            Request::SetAcl(SetAcl { path: path("/b"), acl: vec![Acl::open()], version: -1 }),
            set("/b", "x"),
            create("/b/c"),
            create_for("/b/d", vec![world(0)]),
        ],
    );
    let closed = Request::SetAcl(SetAcl { path: path("/b"), acl: vec![world(0)], version: -1 });
    turns.extend(by(1, [auth("digest", "super:admin"), watch_data("/b/d")]));
    turns.extend(by(0, [closed]));
    turns.extend(by(1, [delete("/b/d")]));
    turns
}

/// Watches that are checked, removed and set again.
fn one_shot_watches() -> Vec<Turn> {
    let check = |kind| Request::CheckWatches { path: path(""), kind: WatcherType(kind) };
    let remove = |kind| Request::RemoveWatches { path: path(""), kind: WatcherType(kind) };
    let kinds = || [-1, 0, 1, 2, 3, 6].into_iter();
    let checks = || kinds().map(check);
    let changes = [set("", "x"), create("/n")];
    let missed = |zxid| SetWatches {
        relative_zxid: zxid,
        data: vec![path("")],
        exist: vec![path("")],
        child: vec![path("/no")],
        ..SetWatches::default()
    };
    let mut requests: Vec<Request> = checks().collect();
    requests.extend([watch_data("")].into_iter().chain(checks()));
    requests.extend([watch_children("")].into_iter().chain(checks()));
    requests.extend(changes.into_iter().chain(checks()).chain(kinds().map(remove)));
    requests.extend([Request::SetWatches(missed(0)), Request::SetWatches2(missed(0))]);
    requests.extend([watch_children(""), Request::SetWatches2(missed(i64::MAX)), create("/a")]);
    requests.extend([set("", "y"), create("/b")]);
    by(0, requests)
}

/// Persistent watches beside watches of other kinds.
fn persistent_watches() -> Vec<Turn> {
    let (persistent, recursive) = (0, 1);
    let check = |below: &str| Request::CheckWatches { path: path(below), kind: WatcherType::ANY };
    let remove = |below: &str| Request::RemoveWatches { path: path(below), kind: WatcherType::ANY };
    let requests = [
        create("/a"),
        watch_always("/a", recursive),
        create("/ab"),
        set("", "x"),
        set("/a", "x"),
        create("/a/b"),
        check("/a/b"),
        remove("/a/b"),
        watch_data("/a/b"),
        set("/a/b", "x"),
        watch_children("/a/b"),
        create("/a/b/c"),
        delete("/a/b/c"),
        remove("/a"),
        set("/a", "y"),
        watch_data("/ab"),
        watch_always("/ab", persistent),
        set("/ab", "x"),
        set("/ab", "y"),
        watch_always("", -1),
        watch_always("", 2),
        watch_always("", i32::MAX),
        create("/c"),
    ];
    let sibling = Request::Create(Create::new(path("-sibling"), "", CreateFlags::PERSISTENT));
    let watch_root = Request::AddWatch(AddWatch { path: "/".into(), mode: recursive });
    by(0, requests.into_iter().chain([watch_root, create("/d/e"), create("/d"), sibling]))
}

const LIMITS: &str = "/zookeeper_limits";
const STATS: &str = "/zookeeper_stats";

/// The requests by which `setquota` limits a subtree.
fn limit(below: &str) -> Vec<Request> {
    let path = format!("/zookeeper/quota{}", path(below));
    let places = path.match_indices('/').skip(2).map(|(end, _)| path[..end].to_owned());
    let create =
        |path: String| Request::Create(Create::new(path, "count=1000,bytes=1000", CreateFlags::PERSISTENT));
    let nodes = [String::new(), LIMITS.into(), STATS.into()].map(|name| format!("{path}{name}"));
    places.chain(nodes).map(create).collect()
}

fn quota(below: &str, name: &str) -> String {
    format!("/zookeeper/quota{}{name}", path(below))
}

/// The numbers of nodes and bytes below a limit, which follow every change.
fn statistics() -> Vec<Turn> {
    let told = |below: &str| Request::GetData { path: quota(below, STATS), watch: true };
    let creation = |below: &str| Op::Create(node(below, CreateFlags::PERSISTENT));
    let gone = |below: &str| Op::Delete(deletion(below));
    let changes = [
        create("/a/b"),
        create("/a/b/c"),
        create("/ab"),
        set("/a", "12345"),
        set("/a/b", "1"),
        delete("/a/b/c"),
        set_at(quota("/a", LIMITS), "count=1,bytes=1"),
        set("/a/b", "12"),
        Request::Multi(vec![creation("/a/d"), creation("/a/e"), gone("/a/e")]),
        Request::Multi(vec![creation("/a/e"), gone("/no")]),
    ];
    let told_after =
        |requests: Vec<Request>| requests.into_iter().flat_map(move |request| [request, told("/a")]);
    let mut turns = by(0, [create("/a")].into_iter().chain(limit("/a")));
    turns.extend(by(0, told_after(changes.into())));
    turns.extend(by(0, limit("/a/b").into_iter().chain([create("/a/b/f"), told("/a/b")])));
    turns.extend(by(1, [Request::Create(node("/a/g", CreateFlags::EPHEMERAL)), told("/a")]));
    turns.push(Turn::Reopen { session: 1 });
    turns.extend(by(0, told_after(vec![delete("/a/d")])));
    turns.extend(by(0, limit("/missing").into_iter().chain([told("/missing"), create("/missing")])));
    turns.extend(by(0, [told("/missing"), delete("/missing"), told("/missing")]));
    turns
}

/// Statistics that a client writes, and those of limits that are incomplete.
fn written_statistics() -> Vec<Turn> {
    let told = || Request::GetData { path: quota("/a", STATS), watch: false };
    let written =
        ["count=10,bytes=20", "bytes=20;count=10", "", "count=10,bytes=20=;countHardLimit=30;other=7"];
    let counted = written
        .into_iter()
        .flat_map(|text| [set_at(quota("/a", STATS), text), create("/a/b"), told(), delete("/a/b"), told()]);
    let gone = |name| Request::Delete(Delete { path: quota("/a", name), version: -1 });
    let again = |name| Request::Create(Create::new(quota("/a", name), "", CreateFlags::PERSISTENT));
    let rest = [
        gone(LIMITS),
        create("/a/c"),
        told(),
        gone(STATS),
        again(STATS),
        create("/a/d"),
        told(),
        gone(STATS),
        again(LIMITS),
        create("/a/e"),
        told(),
    ];
    by(0, [create("/a")].into_iter().chain(limit("/a")).chain(counted).chain(rest))
}

fn unknown(opcode: Opcode, write: impl FnOnce(&mut Writer)) -> Request {
    let mut body = Writer::default();
    write(&mut body);
    Request::Unknown { opcode, body: body.finish() }
}

/// Requests of every kind that has a body.
fn with_bodies() -> Vec<Request> {
    let path = || path("/a");
    let new = || node("/a", CreateFlags::PERSISTENT);
    vec![
        Request::Create(new()),
        Request::Create2(new()),
        Request::CreateContainer(new()),
        Request::CreateTtl { create: new(), ttl: 1 },
        Request::Delete(Delete { path: path(), version: 0 }),
        Request::Exists { path: path(), watch: false },
        get("/a"),
        Request::GetChildren { path: path(), watch: false },
        children("/a"),
        Request::SetData(SetData { path: path(), data: None, version: 0 }),
        Request::GetAcl { path: path() },
        Request::Sync { path: path() },
        Request::Multi(vec![Op::Create(new())]),
        Request::MultiRead(vec![Op::GetData { path: path(), watch: false }]),
        Request::SetWatches(SetWatches::default()),
        Request::SetWatches2(SetWatches::default()),
        watch_always("/a", 0),
        Request::GetEphemerals { prefix: path() },
        Request::GetAllChildrenNumber { path: path() },
    ]
}

fn body(request: &Request) -> Bytes {
    let mut writer = Writer::default();
    request.write(&mut writer);
    writer.finish()
}

/// Returns the request with a null in place of this path.
fn without_path(path: &str, request: &Request) -> Request {
    let (body, path) = (body(request), [&(path.len() as u32).to_be_bytes(), path.as_bytes()].concat());
    let at = body.windows(path.len()).position(|part| part == path).expect("the request has the path");
    let null = (-1_i32).to_be_bytes();
    let body = [&body[..at], &null, &body[at + path.len()..]].concat().into();
    Request::Unknown { opcode: request.opcode(), body }
}

/// Requests that are cut short, too long, or without a path or an ACL, and a login.
fn malformed() -> Vec<Turn> {
    let cut = with_bodies().into_iter().flat_map(|request| {
        let (opcode, body) = (request.opcode(), body(&request));
        [0, body.len() / 2, body.len() - 1].map(|end| Request::Unknown { opcode, body: body.slice(..end) })
    });
    let long = with_bodies().into_iter().chain([Request::Ping]).map(|request| Request::Unknown {
        opcode: request.opcode(),
        body: [&body(&request)[..], b"and more"].concat().into(),
    });
    let null_acl = unknown(Opcode::CREATE, |body| {
        body.string(&path("/a"));
        body.buffer(None);
        body.int(-1);
        body.int(0);
    });
    // Bytes that are not UTF-8 become a character that no name may have.
    let no_text = unknown(Opcode::CREATE, |body| {
        body.buffer(Some(&[path("/").as_bytes(), b"\xff"].concat()));
        body.buffer(None);
        body.vector(&[Acl::open()], |writer, line| line.write(writer));
        body.int(0);
    });
    let reconfiguration = unknown(Opcode::RECONFIG, |body| {
        for text in ["server.1=x:1:1", "", ""] {
            body.string(text);
        }
        (-1_i64).write(body);
    });
    // The server has no users, and accepts it.
    let login = Request::Unknown { opcode: Opcode::SASL, body: Bytes::from_static(&[0; 4]) };
    let read = || Op::GetData { path: path("/a"), watch: true };
    let check = || Op::Check(CheckVersion { path: path(""), version: 0 });
    let writes = [vec![check()], vec![read(), check()]].map(Request::MultiRead);
    let reads = [vec![read()], vec![check(), read()]].map(Request::Multi);
    let requests = cut.chain(writes).chain(reads).chain(long).chain(null_paths());
    by(0, requests.chain([null_acl, no_text, reconfiguration, login, Request::WhoAmI, children("")]))
}

fn null_paths() -> Vec<Request> {
    let new = || node("/null", CreateFlags::PERSISTENT);
    let (deletion, path) = (deletion("/null"), path("/null"));
    let set = SetData { path: path.clone(), data: None, version: -1 };
    let check = CheckVersion { path: path.clone(), version: -1 };
    let alone = [
        Request::Create(new()),
        Request::Create2(new()),
        Request::Delete(deletion.clone()),
        Request::Exists { path: path.clone(), watch: false },
        get("/null"),
    ];
    let ops =
        [Op::Create(new()), Op::Create2(new()), Op::Delete(deletion), Op::SetData(set), Op::Check(check)];
    let first = || Op::Create(node("/n", CreateFlags::PERSISTENT));
    let multis = ops.map(|op| Request::Multi(vec![first(), op]));
    alone.iter().chain(&multis).map(|request| without_path(&path, request)).collect()
}
