//! Scripts of what random ones do not ask, or too seldom: a list of requests for each subject.

use bytes::Bytes;
use zklock_testkit::wire::{
    Acl, AddWatch, CheckVersion, Create, CreateFlags, Delete, Id, Op, Opcode, Record, Request, SetAcl,
    SetData, SetWatches, WatcherType, Writer, permissions,
};

use super::script::{Ask, Root, Turn};
use crate::client::world;

/// A subject, and the turns of two sessions below a node.
pub(super) type Subject = (&'static str, fn(&Root) -> Vec<Turn>);

pub(super) const SUBJECTS: [Subject; 11] = [
    ("flags", flags),
    ("data", data),
    ("paths", paths),
    ("reads", reads),
    ("transactions", transactions),
    ("queues", queues),
    ("access", access),
    ("one-shot watches", one_shot_watches),
    ("persistent watches", persistent_watches),
    ("statistics", statistics),
    ("written statistics", written_statistics),
];

/// Their answers have zxids that differ, because some of them are transactions of a real server only.
pub(super) const MALFORMED: Subject = ("malformed requests", malformed);

impl Root {
    fn create(&self, below: &str) -> Request {
        Request::Create(self.node(below, CreateFlags::PERSISTENT))
    }

    fn create_for(&self, below: &str, acl: Vec<Acl>) -> Request {
        Request::Create(Create { acl, ..self.node(below, CreateFlags::PERSISTENT) })
    }

    fn delete(&self, below: &str) -> Request {
        Request::Delete(self.deletion(below, -1))
    }

    fn set(&self, below: &str, data: &'static str) -> Request {
        set(self.path(below), data)
    }

    fn data(&self, below: &str) -> Request {
        Request::GetData { path: self.path(below), watch: false }
    }

    fn watch_data(&self, below: &str) -> Request {
        Request::GetData { path: self.path(below), watch: true }
    }

    fn watch_children(&self, below: &str) -> Request {
        Request::GetChildren { path: self.path(below), watch: true }
    }

    fn watch_always(&self, below: &str, mode: i32) -> Request {
        Request::AddWatch(AddWatch { path: self.path(below), mode })
    }

    fn children(&self, below: &str) -> Request {
        Request::GetChildren2 { path: self.path(below), watch: false }
    }
}

fn set(path: String, data: &'static str) -> Request {
    Request::SetData(SetData { path, data: Some(Bytes::from(data)), version: -1 })
}

/// A session sends each request after the answer to the one before.
fn by(session: usize, requests: impl IntoIterator<Item = Request>) -> Vec<Turn> {
    let asks = requests.into_iter().map(|request| vec![Ask::new(move |_| request.clone())]);
    asks.map(|asks| Turn::Ask { session, asks }).collect()
}

/// Nodes of every kind by every operation, and those that are left when the session has ended.
fn flags(root: &Root) -> Vec<Turn> {
    let all = (-1..10).chain([i32::MIN, i32::MAX]).map(CreateFlags);
    let mut requests = Vec::new();
    for flags in all {
        let name = |operation: usize| format!("/{}-{operation}-", flags.0);
        let create = |operation| root.node(&name(operation), flags);
        requests.extend([
            Request::Create(create(0)),
            Request::Create2(create(1)),
            Request::CreateContainer(create(2)),
            Request::Create(root.node("/no/a", flags)),
            Request::Create(Create::new(root.path("/"), "", flags)),
            Request::Create(Create::new("a", "", flags)),
        ]);
        // The servers differ in what is wrong with a time to live that a transaction does not name.
        if ![5, 6].contains(&flags.0) {
            requests.push(Request::Multi(vec![Op::Create(create(3))]));
        }
        // A negative time to live means none, and a node without one ends the server's connection.
        let negative = [-1, i64::MIN].into_iter().filter(|_| flags.0 > 4);
        let positive = [0, 3_600_000, 0xff_ffff_ffff, 1 << 40];
        for (number, ttl) in positive.into_iter().chain(negative).enumerate() {
            requests.push(Request::CreateTtl { create: create(10 + number), ttl });
            requests.push(Request::Multi(vec![Op::CreateTtl { create: create(20 + number), ttl }]));
        }
    }
    let container = root.node("/container", CreateFlags::CONTAINER);
    requests.push(Request::Multi(vec![Op::CreateContainer(container)]));
    requests.extend([Request::GetEphemerals { prefix: root.path("") }, root.children("")]);
    let mut turns = by(0, requests);
    turns.push(Turn::Reopen { session: 0 });
    turns.extend(by(0, [root.children("")]));
    turns
}

/// Data of any bytes, or none.
fn data(root: &Root) -> Vec<Turn> {
    let any: Vec<u8> = (0..=255).collect();
    let datas = [None, Some(Bytes::new()), Some(any.into()), Some(vec![b'x'; 1_000_000].into())];
    let requests = datas.into_iter().enumerate().flat_map(|(number, data)| {
        let (path, name) = ("/a", format!("/{number}"));
        let create = Create { data: data.clone(), ..root.node(&name, CreateFlags::PERSISTENT) };
        let set = SetData { path: root.path(path), data, version: -1 };
        [Request::Create(create), root.data(&name), Request::SetData(set), root.data(path)]
    });
    by(0, [root.create("/a")].into_iter().chain(requests))
}

/// Paths that only some requests accept.
fn paths(root: &Root) -> Vec<Turn> {
    let characters = "\0\u{1}\n\u{1f}\u{7f}\u{9f}\u{a0}\u{d7ff}\u{e000}\u{f8ff}\u{f900}\u{fff0}\u{ffff}😀 ~ä";
    let of = |c: char| [format!("/{c}"), format!("/a{c}"), format!("/a{c}b")];
    let below = ["/", "//a", "/.", "/..", "/./a", "/a/../b", "/a/", "/...", "/.a", "/a.", "/a..b", "/..a"];
    let below = below.into_iter().map(str::to_owned).chain(characters.chars().flat_map(of));
    let others = ["", "a", ".", "a/b", "//", "///", "\0", "/"].map(str::to_owned);
    let paths = below.map(|below| root.path(&below)).chain(others);
    let requests = paths.flat_map(|path| {
        let path = || path.clone();
        let set_acl = |acl| Request::SetAcl(SetAcl { path: path(), acl, version: -1 });
        let check = Op::Check(CheckVersion { path: path(), version: -1 });
        let create = |flags| Create::new(path(), "", flags);
        [
            set(path(), ""),
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
            .chain([root.children(""), Request::GetChildren { path: "/zookeeper".into(), watch: false }]),
    )
}

/// Several reads at once, the ephemeral nodes of a session, and the number of all descendants.
fn reads(root: &Root) -> Vec<Turn> {
    let nodes = ["/a", "/a/b", "/a/b/c", "/ab"].map(|name| root.create(name));
    let ephemeral = |name| Request::Create(root.node(name, CreateFlags::EPHEMERAL));
    let mut turns = by(0, nodes.into_iter().chain([ephemeral("/ab/c"), ephemeral("/d")]));
    turns.extend(by(1, [ephemeral("/e")]));
    let number = |name| Request::GetAllChildrenNumber { path: root.path(name) };
    let prefixes = ["/a", "/ab", "/ab/", "/ab/c", "/b", "/e"].map(|below| root.path(below)).into_iter();
    let prefixes = prefixes.chain(["", " ", "/", " / "].map(str::to_owned));
    let read = || Op::GetData { path: root.path("/a"), watch: true };
    let list = Op::GetChildren { path: root.path(""), watch: true };
    let requests = prefixes.map(|prefix| Request::GetEphemerals { prefix });
    let requests = requests.chain(["", "/a", "/a/b", "/a/b/c", "/no"].map(number));
    let syncs = ["/", "/no", "", "no path"].map(|path| Request::Sync { path: path.into() });
    let watched = [Request::MultiRead(vec![read(), list]), root.set("/a", "x"), root.delete("/d")];
    turns.extend(by(0, requests.chain(syncs).chain(watched)));
    turns.extend(by(1, [Request::GetEphemerals { prefix: "/".into() }]));
    turns
}

/// Requests that are transactions, and those that are not, as the zxids of their answers show.
fn transactions(root: &Root) -> Vec<Turn> {
    let create = |below| Op::Create(root.node(below, CreateFlags::PERSISTENT));
    let check = |below| Op::Check(CheckVersion { path: root.path(below), version: -1 });
    let auth = Request::Auth { scheme: "digest".into(), auth: Some(Bytes::from("a:b")) };
    let watches = || SetWatches { data: vec![root.path("/no")], ..SetWatches::default() };
    let requests = [
        root.create("/a"),
        auth,
        root.create("/a"),
        root.delete("/no"),
        Request::SetAcl(SetAcl { path: root.path("/a"), acl: vec![], version: -1 }),
        Request::CheckWatches { path: root.path("/a"), kind: WatcherType::ANY },
        Request::SetWatches(watches()),
        Request::SetWatches2(watches()),
        Request::WhoAmI,
        Request::Multi(vec![]),
        Request::Multi(vec![check("/a"), check("/a")]),
        Request::Multi(vec![create("/b"), create("/."), create("/c")]),
        Request::Multi(vec![Op::Create(Create::new("", "", CreateFlags::PERSISTENT))]),
    ];
    by(0, requests)
}

/// A queue that is created together with its first contender, as zklock takes a lock whose node does not exist.
fn queues(root: &Root) -> Vec<Turn> {
    let all = || vec![Acl::open()];
    let only = |bits: i32| vec![world(bits)];
    let without = |bit: i32| vec![world(permissions::ALL & !bit)];
    let take = |queue: &str, number: i32, acl: Vec<Acl>, contender: Vec<Acl>| {
        let path = root.path(&format!("{queue}/c-lock-{number:010}"));
        Request::Multi(vec![
            Op::CreateContainer(Create { acl, ..root.node(queue, CreateFlags::CONTAINER) }),
            Op::Create(Create {
                acl: contender,
                ..root.node(&format!("{queue}/c-lock-"), CreateFlags::EPHEMERAL_SEQUENTIAL)
            }),
            Op::SetData(SetData { path, data: Some(Bytes::from("me")), version: -1 }),
        ])
    };
    let exists = |below: &str| Request::Exists { path: root.path(below), watch: true };
    let watches = [exists("/q"), exists("/q/c-lock-0000000000"), root.watch_children("")];
    let mut turns = by(1, watches);
    let requests = [
        take("/q", 1, all(), all()),
        take("/no/q", 0, all(), all()),
        take("/q", 0, without(permissions::CREATE), all()),
        take("/q", 0, all(), without(permissions::WRITE)),
        take("/q", 0, all(), all()),
        take("/q", 1, all(), all()),
        root.children("/q"),
        root.create_for("/p", without(permissions::CREATE)),
        take("/p/q", 0, all(), all()),
        root.create_for("/r", only(permissions::CREATE)),
        take("/r/q", 0, only(permissions::CREATE), only(permissions::WRITE)),
    ];
    turns.extend(by(0, requests));
    turns.extend(by(1, [take("/q", 0, all(), all())]));
    turns
}

/// Identities that prove nothing, and a node that only the superuser may read.
fn access(root: &Root) -> Vec<Turn> {
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
            root.create_for("/a", of_session()),
            Request::WhoAmI,
            root.create_for("/b", vec![world(permissions::WRITE)]),
            Request::GetData { path: root.path("/b"), watch: true },
            root.watch_children("/b"),
            Request::GetChildren2 { path: root.path("/b"), watch: true },
            Request::SetAcl(SetAcl { path: root.path("/b"), acl: vec![Acl::open()], version: -1 }),
            root.set("/b", "x"),
            root.create("/b/c"),
            root.create_for("/b/d", vec![world(0)]),
        ],
    );
    let closed = Request::SetAcl(SetAcl { path: root.path("/b"), acl: vec![world(0)], version: -1 });
    turns.extend(by(1, [auth("digest", "super:admin"), root.watch_data("/b/d")]));
    turns.extend(by(0, [closed]));
    turns.extend(by(1, [root.delete("/b/d")]));
    turns
}

/// Watches that are checked, removed and set again.
fn one_shot_watches(root: &Root) -> Vec<Turn> {
    let check = |kind| Request::CheckWatches { path: root.path(""), kind: WatcherType(kind) };
    let remove = |kind| Request::RemoveWatches { path: root.path(""), kind: WatcherType(kind) };
    let kinds = || [-1, 0, 1, 2, 3, 6].into_iter();
    let checks = || kinds().map(check);
    let changes = [root.set("", "x"), root.create("/n")];
    let missed = |zxid| SetWatches {
        relative_zxid: zxid,
        data: vec![root.path("")],
        exist: vec![root.path("")],
        child: vec![root.path("/no")],
        ..SetWatches::default()
    };
    let mut requests: Vec<Request> = checks().collect();
    requests.extend([root.watch_data("")].into_iter().chain(checks()));
    requests.extend([root.watch_children("")].into_iter().chain(checks()));
    requests.extend(changes.into_iter().chain(checks()).chain(kinds().map(remove)));
    requests.extend([Request::SetWatches(missed(0)), Request::SetWatches2(missed(0))]);
    requests.extend([root.watch_children(""), Request::SetWatches2(missed(i64::MAX)), root.create("/a")]);
    requests.extend([root.set("", "y"), root.create("/b")]);
    by(0, requests)
}

/// Persistent watches beside watches of other kinds.
fn persistent_watches(root: &Root) -> Vec<Turn> {
    let (persistent, recursive) = (0, 1);
    let check = |below: &str| Request::CheckWatches { path: root.path(below), kind: WatcherType::ANY };
    let remove = |below: &str| Request::RemoveWatches { path: root.path(below), kind: WatcherType::ANY };
    let requests = [
        root.create("/a"),
        root.watch_always("/a", recursive),
        root.create("/ab"),
        root.set("", "x"),
        root.set("/a", "x"),
        root.create("/a/b"),
        check("/a/b"),
        remove("/a/b"),
        root.watch_data("/a/b"),
        root.set("/a/b", "x"),
        root.watch_children("/a/b"),
        root.create("/a/b/c"),
        root.delete("/a/b/c"),
        remove("/a"),
        root.set("/a", "y"),
        root.watch_data("/ab"),
        root.watch_always("/ab", persistent),
        root.set("/ab", "x"),
        root.set("/ab", "y"),
        root.watch_always("", -1),
        root.watch_always("", 2),
        root.watch_always("", i32::MAX),
        root.create("/c"),
    ];
    let sibling = Request::Create(Create::new(root.path("-sibling"), "", CreateFlags::PERSISTENT));
    let watch_root = Request::AddWatch(AddWatch { path: "/".into(), mode: recursive });
    by(0, requests.into_iter().chain([watch_root, root.create("/d/e"), root.create("/d"), sibling]))
}

const LIMITS: &str = "/zookeeper_limits";
const STATS: &str = "/zookeeper_stats";

/// The requests by which `setquota` limits a subtree.
fn limit(root: &Root, below: &str) -> Vec<Request> {
    let path = format!("/zookeeper/quota{}", root.path(below));
    let places = path.match_indices('/').skip(2).map(|(end, _)| path[..end].to_owned());
    let create =
        |path: String| Request::Create(Create::new(path, "count=1000,bytes=1000", CreateFlags::PERSISTENT));
    let nodes = [String::new(), LIMITS.into(), STATS.into()].map(|name| format!("{path}{name}"));
    places.chain(nodes).map(create).collect()
}

fn quota(root: &Root, below: &str, name: &str) -> String {
    format!("/zookeeper/quota{}{name}", root.path(below))
}

/// The numbers of nodes and bytes below a limit, which follow every change.
fn statistics(root: &Root) -> Vec<Turn> {
    let told = |below: &str| Request::GetData { path: quota(root, below, STATS), watch: true };
    let create = |below: &str| Op::Create(root.node(below, CreateFlags::PERSISTENT));
    let delete = |below: &str| Op::Delete(root.deletion(below, -1));
    let changes = [
        root.create("/a/b"),
        root.create("/a/b/c"),
        root.create("/ab"),
        root.set("/a", "12345"),
        root.set("/a/b", "1"),
        root.delete("/a/b/c"),
        set(quota(root, "/a", LIMITS), "count=1,bytes=1"),
        root.set("/a/b", "12"),
        Request::Multi(vec![create("/a/d"), create("/a/e"), delete("/a/e")]),
        Request::Multi(vec![create("/a/e"), delete("/no")]),
    ];
    let told_after =
        |requests: Vec<Request>| requests.into_iter().flat_map(move |request| [request, told("/a")]);
    let mut turns = by(0, [root.create("/a")].into_iter().chain(limit(root, "/a")));
    turns.extend(by(0, told_after(changes.into())));
    turns.extend(by(0, limit(root, "/a/b").into_iter().chain([root.create("/a/b/f"), told("/a/b")])));
    turns.extend(by(1, [Request::Create(root.node("/a/g", CreateFlags::EPHEMERAL)), told("/a")]));
    turns.push(Turn::Reopen { session: 1 });
    turns.extend(by(0, told_after(vec![root.delete("/a/d")])));
    turns.extend(by(
        0,
        limit(root, "/missing").into_iter().chain([told("/missing"), root.create("/missing")]),
    ));
    turns.extend(by(0, [told("/missing"), root.delete("/missing"), told("/missing")]));
    turns
}

/// Statistics that a client writes, and those of limits that are incomplete.
fn written_statistics(root: &Root) -> Vec<Turn> {
    let told = || Request::GetData { path: quota(root, "/a", STATS), watch: false };
    let written =
        ["count=10,bytes=20", "bytes=20;count=10", "", "count=10,bytes=20=;countHardLimit=30;other=7"];
    let counted = written.into_iter().flat_map(|text| {
        [set(quota(root, "/a", STATS), text), root.create("/a/b"), told(), root.delete("/a/b"), told()]
    });
    let gone = |name| Request::Delete(Delete { path: quota(root, "/a", name), version: -1 });
    let again = |name| Request::Create(Create::new(quota(root, "/a", name), "", CreateFlags::PERSISTENT));
    let rest = [
        gone(LIMITS),
        root.create("/a/c"),
        told(),
        gone(STATS),
        again(STATS),
        root.create("/a/d"),
        told(),
        gone(STATS),
        again(LIMITS),
        root.create("/a/e"),
        told(),
    ];
    by(0, [root.create("/a")].into_iter().chain(limit(root, "/a")).chain(counted).chain(rest))
}

fn unknown(opcode: Opcode, write: impl FnOnce(&mut Writer)) -> Request {
    let mut body = Writer::default();
    write(&mut body);
    Request::Unknown { opcode, body: body.finish() }
}

/// Requests of every kind that has a body.
fn with_bodies(root: &Root) -> Vec<Request> {
    let path = || root.path("/a");
    let create = || root.node("/a", CreateFlags::PERSISTENT);
    vec![
        Request::Create(create()),
        Request::Create2(create()),
        Request::CreateContainer(create()),
        Request::CreateTtl { create: create(), ttl: 1 },
        Request::Delete(Delete { path: path(), version: 0 }),
        Request::Exists { path: path(), watch: false },
        root.data("/a"),
        Request::GetChildren { path: path(), watch: false },
        root.children("/a"),
        Request::SetData(SetData { path: path(), data: None, version: 0 }),
        Request::GetAcl { path: path() },
        Request::Sync { path: path() },
        Request::Multi(vec![Op::Create(create())]),
        Request::MultiRead(vec![Op::GetData { path: path(), watch: false }]),
        Request::SetWatches(SetWatches::default()),
        Request::SetWatches2(SetWatches::default()),
        root.watch_always("/a", 0),
        Request::GetEphemerals { prefix: path() },
        Request::GetAllChildrenNumber { path: path() },
    ]
}

/// Requests that are cut short, too long, or without a path or an ACL.
fn malformed(root: &Root) -> Vec<Turn> {
    let body = |request: &Request| {
        let mut writer = Writer::default();
        request.write(&mut writer);
        writer.finish()
    };
    let cut = with_bodies(root).into_iter().flat_map(|request| {
        let (opcode, body) = (request.opcode(), body(&request));
        [0, body.len() / 2, body.len() - 1].map(|end| Request::Unknown { opcode, body: body.slice(..end) })
    });
    let long = with_bodies(root).into_iter().chain([Request::Ping]).map(|request| Request::Unknown {
        opcode: request.opcode(),
        body: [&body(&request)[..], b"and more"].concat().into(),
    });
    let opcodes = [Opcode::CREATE, Opcode::CREATE2, Opcode::DELETE, Opcode::EXISTS, Opcode::GET_DATA];
    let null_paths = opcodes.map(|opcode| {
        unknown(opcode, |body| {
            body.buffer(None);
            body.raw(&[0; 16]);
        })
    });
    let null_acl = unknown(Opcode::CREATE, |body| {
        body.string(&root.path("/a"));
        body.buffer(None);
        body.int(-1);
        body.int(0);
    });
    // Bytes that are not UTF-8 become a character that no name may have.
    let no_text = unknown(Opcode::CREATE, |body| {
        body.buffer(Some(&[root.path("/").as_bytes(), b"\xff"].concat()));
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
    let read = || Op::GetData { path: root.path("/a"), watch: true };
    let check = || Op::Check(CheckVersion { path: root.path(""), version: 0 });
    let writes = [vec![check()], vec![read(), check()]].map(Request::MultiRead);
    let reads = [vec![read()], vec![check(), read()]].map(Request::Multi);
    let cut = cut.chain(writes).chain(reads);
    let requests = cut.chain(long).chain(null_paths).chain(null_paths_in_multis(root));
    by(0, requests.chain([null_acl, no_text, reconfiguration, root.children("")]))
}

fn null_paths_in_multis(root: &Root) -> Vec<Request> {
    // The header of an operation, or of the end.
    let header = |body: &mut Writer, opcode: Option<Opcode>| {
        body.int(opcode.unwrap_or(Opcode::ERROR).0);
        opcode.is_none().write(body);
        body.int(-1);
    };
    let open = |body: &mut Writer| {
        body.buffer(None);
        body.vector(&[Acl::open()], |writer, line| line.write(writer));
        body.int(0);
    };
    let opcodes = [Opcode::CREATE, Opcode::CREATE2, Opcode::DELETE, Opcode::SET_DATA, Opcode::CHECK];
    let multi = |opcode| {
        unknown(Opcode::MULTI, |body| {
            header(body, Some(Opcode::CREATE));
            body.string(&root.path("/n"));
            open(body);
            header(body, Some(opcode));
            body.buffer(None);
            match opcode {
                Opcode::CREATE | Opcode::CREATE2 => open(body),
                Opcode::SET_DATA => {
                    body.buffer(None);
                    body.int(-1);
                }
                _ => body.int(-1),
            }
            header(body, None);
        })
    };
    opcodes.map(multi).into()
}
