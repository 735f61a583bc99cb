//! Visits two replicas of the service over HTTP, and kills the leader.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};
use zklock_testkit::EmbeddedServer;

use crate::Leader;
use crate::fleet::Fleet;
use crate::setting::{Failure, server};
use crate::terms::Terms;

pub(crate) fn visit() -> Result<(), Failure> {
    let (server, ours) = server()?;
    let mut fleet = Fleet::start(2, &server)?;
    let mut visitor = Visitor::new(addresses(&fleet)?);

    visitor.until("all are ready", |visitor| visitor.all_answer("/healthz", StatusCode::OK))?;
    let leader = visitor.until("the replicas agree on the leader", Visitor::agreed_leader)?;
    println!("both say that replica {leader} leads");
    let (leader, follower) = visitor.until("one serves and the other refuses", Visitor::served)?;

    let killed = fleet.kill(leader);
    visitor.addresses.remove(&leader);
    let answer = visitor.until("the other one serves", |visitor| {
        let answer = visitor.reindex(follower)?;
        Ok(answer.status.is_success().then_some(answer))
    })?;
    println!("{answer}");
    let took = killed.elapsed().as_secs_f32();
    println!("replica {follower} serves {took:.1} s after replica {leader} was killed");
    let next = visitor.until("the replica says that it leads", Visitor::agreed_leader)?;
    assert_eq!(next, follower);

    if let Some(server) = ours {
        visitor.outage(&server)?;
    }
    fleet.end()?;
    println!("the leader was killed, and the other replica serves");
    Ok(())
}

/// Returns the addresses that the replicas print.
fn addresses(fleet: &Fleet) -> Result<BTreeMap<u32, String>, Failure> {
    let mut addresses = BTreeMap::new();
    while addresses.len() < 2 {
        let line = fleet.next_line()?;
        let listens = line.strip_prefix("replica ").and_then(|rest| rest.split_once(": listens at "));
        if let Some((name, address)) = listens {
            addresses.insert(name.parse()?, address.to_owned());
        }
    }
    Ok(addresses)
}

/// An HTTP client of the replicas that are alive.
struct Visitor {
    agent: Agent,
    addresses: BTreeMap<u32, String>,
    /// The terms in which they served.
    terms: Terms<u32>,
}

impl Visitor {
    fn new(addresses: BTreeMap<u32, String>) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).proxy(None);
        let agent = config.timeout_global(Some(PATIENCE)).build().new_agent();
        Self { agent, addresses, terms: Terms::new() }
    }

    fn get(&self, replica: u32, path: &str) -> Result<Answer, Failure> {
        let response = self.agent.get(format!("{}{path}", self.addresses[&replica])).call()?;
        Answer::read(replica, format!("GET {path}"), response)
    }

    fn post(&self, replica: u32, path: &str) -> Result<Answer, Failure> {
        let response = self.agent.post(format!("{}{path}", self.addresses[&replica])).send_empty()?;
        Answer::read(replica, format!("POST {path}"), response)
    }

    /// Calls `ask` repeatedly until it returns a value.
    fn until<T>(
        &mut self,
        what: &str,
        mut ask: impl FnMut(&mut Self) -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(answer) = ask(self)? {
                return Ok(answer);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("timed out waiting until {what}").into())
    }

    fn names(&self) -> Vec<u32> {
        self.addresses.keys().copied().collect()
    }

    /// Returns `Some` and prints the answers if all replicas answer with this status.
    fn all_answer(&self, path: &str, expected: StatusCode) -> Result<Option<()>, Failure> {
        let answers = self.names().into_iter().map(|name| self.get(name, path));
        let answers = answers.collect::<Result<Vec<_>, _>>()?;
        if answers.iter().any(|answer| answer.status != expected) {
            return Ok(None);
        }
        answers.iter().for_each(|answer| println!("{answer}"));
        Ok(Some(()))
    }

    /// Returns the replica that claims to lead, if all others agree.
    fn agreed_leader(&mut self) -> Result<Option<u32>, Failure> {
        let mut answers = BTreeMap::new();
        for name in self.names() {
            let answer = self.get(name, "/leader")?;
            if answer.status == StatusCode::OK {
                answers.insert(name, serde_json::from_str::<Leader>(&answer.text)?);
            }
        }
        let Some(leader) = answers.iter().find_map(|(name, said)| said.is_this_replica.then_some(*name))
        else {
            return Ok(None);
        };
        let identity = format!("replica {leader}");
        let agrees = |name: u32| {
            let said = Leader { leader: Some(identity.clone()), is_this_replica: name == leader };
            answers.get(&name) == Some(&said)
        };
        Ok(self.names().into_iter().all(agrees).then_some(leader))
    }

    /// Returns the replica that serves `/reindex` and the one that refuses it, if there is one of each.
    fn served(&mut self) -> Result<Option<(u32, u32)>, Failure> {
        let mut answers = Vec::new();
        for name in self.names() {
            answers.push(self.reindex(name)?);
        }
        let with = |status| answers.iter().find(|answer| answer.status == status);
        let (serves, refuses) = (with(StatusCode::OK), with(StatusCode::MISDIRECTED_REQUEST));
        Ok(serves.zip(refuses).map(|(serves, refuses)| {
            println!("{serves}\n{refuses}");
            (serves.replica, refuses.replica)
        }))
    }

    /// Posts `/reindex` to a replica, and checks that the term in which it serves was not over already.
    fn reindex(&mut self, replica: u32) -> Result<Answer, Failure> {
        let answer = self.post(replica, "/reindex")?;
        match answer.status {
            StatusCode::OK => self.terms.note(&replica, answer.text.parse()?)?,
            StatusCode::MISDIRECTED_REQUEST => {}
            _ => return Err(answer.to_string().into()),
        }
        Ok(answer)
    }

    /// Stops the server for a moment, and waits until the replicas report that they are not ready.
    fn outage(&mut self, server: &EmbeddedServer) -> Result<(), Failure> {
        println!("the server is stopped");
        server.kill()?;
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        self.until("they are not ready", |visitor| visitor.all_answer("/healthz", unavailable))?;
        println!("the server is back");
        server.restart()?;
        self.until("they are ready", |visitor| visitor.all_answer("/healthz", StatusCode::OK))
    }
}

/// A replica's answer.
struct Answer {
    replica: u32,
    request: String,
    status: StatusCode,
    text: String,
}

impl Answer {
    fn read(replica: u32, request: String, mut response: Response<Body>) -> Result<Self, Failure> {
        let text = response.body_mut().read_to_string()?;
        Ok(Self { replica, request, status: response.status(), text })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of replica {}: {}, {}", self.request, self.replica, self.status, self.text)
    }
}

/// The longest wait for an answer, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
