//! The messages to the watchdog, one per line.

use std::fmt;
use std::time::Duration;

use nix::unistd::Pid;

use super::deadlines::Deadlines;

/// A message to the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Watch this process group.
    Watch(Pid),
    /// Let it live until then.
    Until(Deadlines),
    /// Kill it then. It is asked to end already.
    Kill(Duration),
}

/// The answer of a watchdog that has a group and its deadlines.
pub(super) const WATCHES: u8 = b'w';
/// The word of a watchdog that is about to signal the group, because the time is over.
pub(super) const EXPIRED: u8 = b't';

impl Order {
    /// Reads a line. Returns `None` for a line that is no order.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let time = |word: &str| word.parse().ok().map(Duration::from_nanos);
        let order = match words.next()? {
            "watch" => Self::Watch(Pid::from_raw(words.next()?.parse().ok()?)),
            "until" => Self::Until(Deadlines { term: time(words.next()?)?, kill: time(words.next()?)? }),
            "kill" => Self::Kill(time(words.next()?)?),
            _ => return None,
        };
        words.next().is_none().then_some(order)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watch(group) => writeln!(f, "watch {group}"),
            Self::Until(Deadlines { term, kill }) => {
                writeln!(f, "until {} {}", term.as_nanos(), kill.as_nanos())
            }
            Self::Kill(at) => writeln!(f, "kill {}", at.as_nanos()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written_and_a_part_of_it_is_none() {
        let deadlines = Deadlines { term: Duration::from_nanos(7), kill: Duration::from_secs(9) };
        let kill = Order::Kill(deadlines.kill);
        for order in [Order::Watch(Pid::from_raw(12)), Order::Until(deadlines), kill] {
            assert_eq!(Order::read(order.to_string().trim_end()), Some(order));
        }
        for line in ["", "watch", "watch x", "until 1", "until 1 2 3", "kill", "kill 1 2", "other"] {
            assert_eq!(Order::read(line), None, "{line}");
        }
    }
}
