//! Draws the choices of one fault.

use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;

use super::fault::{Fault, Kind, Request, Side, Target};
use super::plan::Plan;

/// Draws a fault of a kind.
pub(super) fn fault(rng: &mut Rng, kind: Kind, plan: &Plan) -> Fault {
    let process = rng.usize(..plan.processes);
    let server = server(rng, plan);
    match kind {
        Kind::KillClient => Fault::KillClient { process, down: millis(rng, 100..=3_000) },
        Kind::StopClient => Fault::StopClient { process, lasts: millis(rng, 500..=9_000) },
        Kind::KillServer => Fault::KillServer {
            server: Target::Server(rng.usize(..plan.servers)),
            down: millis(rng, 100..=6_000),
        },
        Kind::KillLeader => Fault::KillServer { server: Target::Leader, down: millis(rng, 100..=6_000) },
        Kind::RollingRestart => Fault::RollingRestart,
        Kind::SilentServer => silent_servers(rng, plan),
        Kind::Cut => Fault::Cut { process, side: one_of(rng, &[Side::ToClient, Side::Both]) },
        Kind::OneWay => {
            let side = one_of(rng, &[Side::ToServer, Side::ToClient]);
            Fault::Silence {
                process,
                servers: some(rng, plan.servers),
                side,
                lasts: millis(rng, 500..=8_000),
            }
        }
        Kind::Silence => {
            let servers = some(rng, plan.servers);
            Fault::Silence { process, servers, side: Side::Both, lasts: millis(rng, 500..=9_000) }
        }
        Kind::SlowLink => {
            let delay = millis(rng, 10..=400);
            Fault::SlowLink { process, delay, lasts: millis(rng, 2_000..=8_000) }
        }
        Kind::LostReply => {
            let request = request(rng);
            Fault::LostReply { process, request, lasts: millis(rng, 1_000..=3_000) }
        }
        Kind::BrokenRequest => {
            let request = request(rng);
            Fault::BrokenRequest { request, lasts: millis(rng, 1_000..=3_000) }
        }
        Kind::EndSession => Fault::EndSession { process },
        Kind::DeleteNode => Fault::DeleteNode { pick: rng.u64(..) },
        Kind::ReapContainers => Fault::ReapContainers { lasts: millis(rng, 1_000..=3_000) },
        Kind::SkewClock => Fault::SkewClock { process, rate: one_of(rng, &[992, 996, 1_004, 1_008]) },
        Kind::LaggingServer => {
            // A client has half a second for a new connection, for which a follower asks the leader.
            let delay = millis(rng, 50..=240);
            Fault::LaggingServer { server, delay, lasts: millis(rng, 2_000..=8_000) }
        }
        Kind::FullDisk => Fault::FullDisk { server, lasts: millis(rng, 1_000..=5_000) },
        Kind::SlowDisk => {
            let stopped = millis(rng, 50..=400);
            Fault::SlowDisk { server, stopped, lasts: millis(rng, 2_000..=6_000) }
        }
    }
}

/// Draws any server, and the leader more often than the others.
fn server(rng: &mut Rng, plan: &Plan) -> Target {
    if rng.u8(..3) == 0 { Target::Leader } else { Target::Server(rng.usize(..plan.servers)) }
}

/// Draws a kind of request, and a create more often than the others.
fn request(rng: &mut Rng) -> Request {
    one_of(rng, &[Request::Create, Request::Create, Request::Delete, Request::Transaction, Request::List])
}

/// Draws one server, or now and then a majority.
fn silent_servers(rng: &mut Rng, plan: &Plan) -> Fault {
    let servers = if rng.u8(..4) == 0 {
        let mut all: Vec<_> = (0..plan.servers).collect();
        rng.shuffle(&mut all);
        all.into_iter().take(plan.servers / 2 + 1).map(Target::Server).collect()
    } else {
        vec![server(rng, plan)]
    };
    Fault::SilentServers { servers, lasts: millis(rng, 500..=8_000) }
}

/// Draws some of the servers, and all of them in half of the cases.
fn some(rng: &mut Rng, servers: usize) -> Vec<usize> {
    if rng.bool() {
        return (0..servers).collect();
    }
    let left_out = rng.usize(..servers);
    (0..servers).filter(|server| *server != left_out).collect()
}

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.usize(..choices.len())]
}

fn millis(rng: &mut Rng, range: RangeInclusive<u64>) -> Duration {
    Duration::from_millis(rng.u64(range))
}
