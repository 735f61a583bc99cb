//! Starts a server and two replicas of the service, kills the leader, stops the server for a moment, and ends the other
//! replica by SIGTERM.

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use ureq::Agent;
use ureq::http::StatusCode;
use zklock_testkit::EmbeddedServer;

type Failure = Box<dyn Error + Send + Sync>;

pub(crate) fn visit() -> Result<(), Failure> {
    let server = EmbeddedServer::start()?;
    let (one, two) = (Replica::start("one", &server)?, Replica::start("two", &server)?);
    one.until("GET /readyz", StatusCode::OK)?;
    two.until("GET /readyz", StatusCode::OK)?;
    one.until("POST /orders/7/settle", StatusCode::OK)?;
    let (mut leader, mut follower) = if one.leads_before(&two)? { (one, two) } else { (two, one) };
    let token = leader.reindex()?;
    leader.until_line("sweeps")?;
    drop(leader);
    println!("the leader is killed");
    if follower.reindex()? <= token {
        return Err("the next leader has no greater token".into());
    }
    follower.until("GET /leader", StatusCode::OK)?;
    server.kill()?;
    follower.until("GET /readyz", StatusCode::SERVICE_UNAVAILABLE)?;
    server.restart()?;
    follower.until("GET /readyz", StatusCode::OK)?;
    if !follower.ask("GET /metrics")?.1.contains("zklock_elections_total{") {
        return Err("the service does not count its elections".into());
    }
    follower.end()?;
    println!("the leader was killed, and the other replica serves");
    Ok(())
}

/// The process of a replica, which is killed when this is dropped.
struct Replica {
    name: &'static str,
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
    agent: Agent,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Replica {
    fn start(name: &'static str, server: &EmbeddedServer) -> Result<Self, Failure> {
        let mut command = Command::new(env::current_exe()?);
        command
            .arg("127.0.0.1:0")
            .env("ZKLOCK_CONNECT", server.connect_string())
            .env("ZKLOCK_IDENTITY", name);
        // The shortest one that the server grants.
        command.env("ZKLOCK_SESSION_TIMEOUT", "4s").stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let lines = BufReader::new(process.stdout.take().expect("the output is piped")).lines();
        let config = Agent::config_builder().http_status_as_error(false).proxy(None);
        let agent = config.timeout_global(Some(PATIENCE)).build().new_agent();
        let mut replica = Self { name, process, lines, address: String::new(), agent };
        replica.address = replica.until_line("listens at ")?;
        Ok(replica)
    }

    /// Prints the lines of the replica until one begins with `start`, and returns the rest of that line.
    fn until_line(&mut self, start: &str) -> Result<String, Failure> {
        for line in &mut self.lines {
            let line = line?;
            println!("{}: {line}", self.name);
            if let Some(rest) = line.strip_prefix(start) {
                return Ok(rest.to_owned());
            }
        }
        Err(format!("replica {} ended before it said {start:?}", self.name).into())
    }

    /// Sends a request, such as `GET /readyz`, and returns the status and the text of the answer.
    fn ask(&self, request: &str) -> Result<(StatusCode, String), Failure> {
        let (method, path) = request.split_once(' ').ok_or("a request has a method and a path")?;
        let url = format!("{}{path}", self.address);
        let mut answer = match method {
            "POST" => self.agent.post(url).send_empty()?,
            _ => self.agent.get(url).call()?,
        };
        Ok((answer.status(), answer.body_mut().read_to_string()?))
    }

    /// Asks repeatedly until the answer has this status. Prints it, and returns its text.
    fn until(&self, request: &str, expected: StatusCode) -> Result<String, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (status, text) = self.ask(request)?;
            if status == expected {
                println!("{request} of replica {}: {status}, {}", self.name, text.trim_end());
                return Ok(text);
            }
            if Instant::now() > deadline {
                return Err(format!("{request} of replica {} is answered by {status}", self.name).into());
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until this replica leads, and returns the token of its term.
    fn reindex(&self) -> Result<u128, Failure> {
        Ok(self.until("POST /reindex", StatusCode::OK)?.parse()?)
    }

    /// Waits until one of the two leads. Returns whether it is this one, and fails if the other one serves as well.
    fn leads_before(&self, other: &Self) -> Result<bool, Failure> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match (self.ask("POST /reindex")?.0, other.ask("POST /reindex")?.0) {
                (StatusCode::OK, StatusCode::MISDIRECTED_REQUEST) => return Ok(true),
                (StatusCode::MISDIRECTED_REQUEST, StatusCode::OK) => return Ok(false),
                (StatusCode::OK, _) => return Err("both replicas serve".into()),
                _ => sleep(Duration::from_millis(50)),
            }
        }
        Err("no replica leads".into())
    }

    /// Ends the replica by SIGTERM.
    fn end(&mut self) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        self.until_line("ends")?;
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the service ended with {status}").into()) }
    }
}

/// The longest time of each step, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
