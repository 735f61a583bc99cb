use zklock_testkit::conversation::{Message, Reply};
use zklock_testkit::wire::{Response, Stat};

use crate::client::sorted;

/// Whether the zxids of both servers must be equal, seen from the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zxids {
    Compared,
    Hidden,
}

/// The values in which two servers may differ: the start of a run, and the ids of its sessions.
#[derive(Debug)]
pub(crate) struct View {
    /// The last transaction before the run.
    start: i64,
    zxids: Zxids,
    /// The sessions of the run in the order in which they were opened.
    sessions: Vec<i64>,
}

impl View {
    pub(crate) fn new(start: i64, zxids: Zxids) -> Self {
        Self { start, zxids, sessions: Vec::new() }
    }

    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    pub(crate) fn add(&mut self, session: i64) {
        self.sessions.push(session);
    }

    /// Replaces zxids by their distance from the start and sessions by their numbers, and removes times.
    pub(crate) fn of(&self, message: Message) -> Message {
        match message {
            Message::Event(event) => Message::Event(event),
            Message::Reply(Reply { xid, zxid, outcome }) => {
                let outcome = outcome.map(|response| self.response(response));
                Message::Reply(Reply { xid, zxid: self.zxid(zxid), outcome })
            }
        }
    }

    fn zxid(&self, zxid: i64) -> i64 {
        match self.zxids {
            Zxids::Compared if zxid > 0 => zxid - self.start,
            Zxids::Compared => zxid,
            Zxids::Hidden => 0,
        }
    }

    fn stat(&self, stat: Stat) -> Stat {
        if stat.version == 0 {
            assert_eq!(stat.ctime, stat.mtime, "data that was never replaced is as old as its node");
        }
        let owner = self.sessions.iter().position(|session| *session == stat.ephemeral_owner);
        let number = |position| i64::try_from(position).expect("there are few sessions") + 1;
        Stat {
            czxid: self.zxid(stat.czxid),
            mzxid: self.zxid(stat.mzxid),
            pzxid: self.zxid(stat.pzxid),
            ctime: 0,
            mtime: 0,
            ephemeral_owner: owner.map_or(stat.ephemeral_owner, number),
            ..stat
        }
    }

    fn response(&self, response: Response) -> Response {
        match response {
            Response::Created { path, stat } => Response::Created { path, stat: self.stat(stat) },
            Response::Stat(stat) => Response::Stat(self.stat(stat)),
            Response::Data { data, stat } => Response::Data { data, stat: self.stat(stat) },
            // Several identities of one connection have no order.
            Response::Acl { mut acl, stat } => {
                acl.sort_by_key(|line| format!("{line:?}"));
                Response::Acl { acl, stat: self.stat(stat) }
            }
            Response::WhoAmI(mut infos) => {
                infos.sort_by(|one, other| (&one.scheme, &one.user).cmp(&(&other.scheme, &other.user)));
                Response::WhoAmI(infos)
            }
            Response::Children(names) => Response::Children(sorted(names)),
            Response::Children2 { children, stat } => {
                Response::Children2 { children: sorted(children), stat: self.stat(stat) }
            }
            Response::Ephemerals(paths) => Response::Ephemerals(sorted(paths)),
            Response::Multi(results) => {
                let shown = |outcome: Result<_, _>| outcome.map(|response| self.response(response));
                Response::Multi(
                    results.into_iter().map(|(opcode, outcome)| (opcode, shown(outcome))).collect(),
                )
            }
            other => other,
        }
    }
}
