//! A relay between two servers, which can carry data late or not at all.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A relay to one address. It carries bytes and knows no protocol. Its threads end with the connections.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    valve: Arc<Valve>,
}

/// The state that all connections of a relay share.
#[derive(Debug, Default)]
struct Valve {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Data is kept for this time.
    Late(Duration),
    /// Data is kept until it opens again.
    Shut,
    /// The relay is gone.
    Over,
}

/// Bytes with the time at which they came. There are none at the end of a connection, as in a read.
struct Parcel {
    came: Instant,
    bytes: Vec<u8>,
}

impl Relay {
    pub(super) fn start(to: SocketAddr) -> io::Result<Self> {
        // At the host of the target, because servers have one host for all of their ports.
        let listener = TcpListener::bind((to.ip(), 0))?;
        let (address, valve) = (listener.local_addr()?, Arc::new(Valve::default()));
        let accepting = valve.clone();
        thread::Builder::new().name("relay".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if accepting.state() == State::Over {
                    return;
                }
                // A connection that fails is closed, as by the server.
                let _ = stream.and_then(|stream| carry(stream, to, &accepting));
            }
        })?;
        Ok(Self { address, valve })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Keeps all data from now on. Connections stay open, and new ones are accepted.
    pub(super) fn shut(&self) {
        self.valve.set(State::Shut);
    }

    /// Carries all data this much later from now on.
    pub(super) fn delay(&self, delay: Duration) {
        self.valve.set(State::Late(delay));
    }

    /// Carries data again, beginning with what was kept.
    pub(super) fn open(&self) {
        self.valve.set(State::Open);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.valve.set(State::Over);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Valve {
    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }

    /// Waits until data that came at this time may pass. Returns `false` if it never may.
    fn pass(&self, came: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            state = match *state {
                State::Open => return true,
                State::Over => return false,
                State::Shut => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                State::Late(delay) => match delay.saturating_sub(came.elapsed()) {
                    Duration::ZERO => return true,
                    left => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                },
            }
        }
    }
}

fn carry(from: TcpStream, to: SocketAddr, valve: &Arc<Valve>) -> io::Result<()> {
    let to = TcpStream::connect(to)?;
    for (source, target) in [(from.try_clone()?, to.try_clone()?), (to, from)] {
        source.set_nodelay(true)?;
        let (sender, parcels) = sync_channel(PARCELS);
        let (reading, valve) = (source.try_clone()?, valve.clone());
        spawn(move || read(&reading, &sender))?;
        spawn(move || {
            write(&target, &parcels, &valve);
            let _ = (source.shutdown(Shutdown::Both), target.shutdown(Shutdown::Both));
        })?;
    }
    Ok(())
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("relay".to_owned()).spawn(work).map(drop)
}

fn read(mut source: &TcpStream, parcels: &SyncSender<Parcel>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        // A connection that breaks has come to its end, too.
        let length = source.read(&mut buffer).unwrap_or_default();
        let parcel = Parcel { came: Instant::now(), bytes: buffer[..length].to_vec() };
        if parcels.send(parcel).is_err() || length == 0 {
            return;
        }
    }
}

fn write(mut target: &TcpStream, parcels: &Receiver<Parcel>, valve: &Valve) {
    for Parcel { came, bytes } in parcels {
        if !valve.pass(came) || bytes.is_empty() || target.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// The most parcels that one direction of a connection keeps.
const PARCELS: usize = 4_096;
