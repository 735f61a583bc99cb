//! A relay between two servers, which can stop to carry data.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

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
    /// Data is kept until it opens again.
    Shut,
    /// The relay is gone.
    Over,
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

    /// Waits until data may pass. Returns `false` if it never may.
    fn pass(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let shut = |state: &mut State| *state == State::Shut;
        *self.changed.wait_while(state, shut).unwrap_or_else(PoisonError::into_inner) == State::Open
    }
}

fn carry(from: TcpStream, to: SocketAddr, valve: &Arc<Valve>) -> io::Result<()> {
    let to = TcpStream::connect(to)?;
    for (source, target) in [(from.try_clone()?, to.try_clone()?), (to, from)] {
        source.set_nodelay(true)?;
        let valve = valve.clone();
        let copying = move || copy(&source, &target, &valve);
        thread::Builder::new().name("relay".to_owned()).spawn(copying)?;
    }
    Ok(())
}

fn copy(mut source: &TcpStream, mut target: &TcpStream, valve: &Valve) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = source.read(&mut buffer)
        && valve.pass()
        && target.write_all(&buffer[..length]).is_ok()
    {}
    // The end of a connection is data, too.
    valve.pass();
    let _ = (source.shutdown(Shutdown::Both), target.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn data_passes_while_the_relay_is_open_and_waits_while_it_is_shut() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(server.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect(relay.address()).unwrap();
        let (mut served, _) = server.accept().unwrap();
        let mut byte = [0];
        client.write_all(b"a").unwrap();
        served.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"a");

        relay.shut();
        client.write_all(b"b").unwrap();
        served.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(served.read(&mut byte).is_err(), "nothing passes");
        relay.open();
        served.set_read_timeout(None).unwrap();
        served.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"b");

        drop(relay);
        client.write_all(b"c").unwrap();
        assert_eq!(served.read(&mut byte).unwrap(), 0, "the relay is gone");
    }
}
