//! Files with a bound on their length, and on the wait for those that are pipes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "tls")]
use std::time::{Duration, Instant};

/// Reads a text of at most this many bytes. Blocks the thread for as long as the file takes.
pub(crate) fn text(file: &Path, longest: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(longest + 1).read_to_end(&mut bytes)?;
    checked(bytes, longest)
}

/// Reads a text as [`text`] does, and gives up at the deadline if the file is a pipe without a writer.
///
/// A regular file has no deadline: a file system that does not answer blocks the thread until it does.
#[cfg(feature = "tls")]
pub(super) fn text_until(deadline: Instant, file: &Path, longest: u64) -> io::Result<String> {
    let opened = open(file)?;
    let is_regular = opened.metadata()?.is_file();
    let (mut bytes, mut rest) = (Vec::new(), opened.take(longest + 1));
    loop {
        match rest.read_to_end(&mut bytes) {
            // A pipe that nobody has opened for writing has an end, too.
            Ok(_) if is_regular || !bytes.is_empty() => return checked(bytes, longest),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it is a pipe that nobody writes to"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Opens a file for reading, without a wait for a writer if it is a pipe.
#[cfg(all(feature = "tls", unix))]
fn open(file: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(file, flags, Mode::empty())?.into())
}

#[cfg(all(feature = "tls", not(unix)))]
fn open(file: &Path) -> io::Result<File> {
    File::open(file)
}

fn checked(bytes: Vec<u8>, longest: u64) -> io::Result<String> {
    if bytes.len() as u64 > longest {
        let reason = format!("it is longer than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The pause between two looks at a pipe.
#[cfg(feature = "tls")]
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(all(test, feature = "tls", unix))]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Longer than a test may take.
    const PATIENCE: Duration = Duration::from_secs(600);

    fn read(file: &Path, within: Duration) -> io::Result<String> {
        text_until(Instant::now() + within, file, 10)
    }

    #[test]
    fn a_pipe_is_given_up_without_a_writer_and_read_with_one() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = read(&pipe, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "it is a pipe that nobody writes to");
        for (written, expected) in [("1234567890", Some("1234567890")), ("12345678901", None)] {
            let writer = pipe.clone();
            let writing = thread::spawn(move || fs::write(writer, written));
            let read = read(&pipe, PATIENCE);
            assert_eq!(read.ok().as_deref(), expected);
            writing.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_regular_file_is_read_at_once_even_if_it_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        for content in ["", "1234567890"] {
            fs::write(&file, content).unwrap();
            assert_eq!(read(&file, PATIENCE).unwrap(), content);
        }
        fs::write(&file, "12345678901").unwrap();
        assert_eq!(read(&file, PATIENCE).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read(directory.path(), PATIENCE).is_err());
    }
}
