//! The digests of a client, which are secrets: no error shows a part of them.

use std::path::{Path, PathBuf};

use crate::error::LockError;
use crate::session::bounded;

use super::invalid::invalid;

/// Returns all digests: those that were given, and those in the files.
pub(super) fn digests(given: Vec<String>, files: &[PathBuf]) -> Result<Vec<String>, LockError> {
    if let Some(wrong) = given.iter().position(|digest| !is_digest(digest)) {
        return Err(invalid("digests", format!("number {} is not `user:password`", wrong + 1)));
    }
    let mut digests = given;
    for file in files {
        let read = read(file).map_err(|reason| invalid("digest_files", reason))?;
        digests.extend(read);
    }
    Ok(digests)
}

/// Reads a file with a single digest.
#[cfg(feature = "sasl-digest")]
pub(super) fn only(file: &Path) -> Result<String, String> {
    let mut digests = read(file)?;
    match digests.pop() {
        Some(digest) if digests.is_empty() => Ok(digest),
        _ => Err(format!("{} has several lines", file.display())),
    }
}

/// Reads a file with one digest per line. The error names the file and the line, and shows nothing of the line.
fn read(file: &Path) -> Result<Vec<String>, String> {
    let name = file.display();
    let text = bounded::text(file, LONGEST_FILE).map_err(|error| format!("cannot read {name}: {error}"))?;
    let lines = text.lines().map(|line| line.trim_end_matches('\r')).enumerate();
    let mut digests = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if !is_digest(line) {
            return Err(format!("line {} of {name} is not `user:password`", index + 1));
        }
        digests.push(line.to_owned());
    }
    if digests.is_empty() {
        return Err(format!("{name} has no digest"));
    }
    Ok(digests)
}

/// Tells whether this names a user. ZooKeeper's password may be empty.
fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(user, _)| !user.is_empty())
}

/// Reads one digest or a list of them. The error shows none of them.
#[cfg(feature = "serde")]
pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`digests` must be a list of texts, each `user:password`")]
    enum Listed {
        One(String),
        Several(Vec<String>),
    }

    Ok(match Listed::deserialize(from)? {
        Listed::One(digest) => vec![digest],
        Listed::Several(digests) => digests,
    })
}

/// Reads a text, or `None` from null. The error shows nothing of another value.
#[cfg(all(feature = "serde", feature = "sasl-digest"))]
pub(super) fn deserialize_one<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`sasl_digest` must be a text, `user:password`")]
    enum Given {
        Text(String),
    }

    Ok(Option::<Given>::deserialize(from)?.map(|Given::Text(text)| text))
}

/// The longest file of digests, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Reads a file with this content, whose errors must not show the secret.
    fn read_from(content: &[u8]) -> Result<Vec<String>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let name = file.path().display().to_string();
        read(file.path()).map_err(|error| {
            assert!(!error.contains("secret"), "{error}");
            error.replace(&name, "FILE")
        })
    }

    #[test]
    fn a_file_has_a_digest_in_each_line() {
        assert_eq!(read_from(b"a:secret").unwrap(), ["a:secret"]);
        assert_eq!(read_from(b"a:secret \r\n\n b:x:y\nc:\n").unwrap(), ["a:secret ", " b:x:y", "c:"]);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_its_line() {
        assert_eq!(read_from(b"").unwrap_err(), "FILE has no digest");
        assert_eq!(read_from(b"\n\n").unwrap_err(), "FILE has no digest");
        assert_eq!(read_from(b"a:b\n\nsecret\n").unwrap_err(), "line 3 of FILE is not `user:password`");
        assert_eq!(read_from(b":secret\n").unwrap_err(), "line 1 of FILE is not `user:password`");
        assert_eq!(read_from(b"a:secret\xff\n").unwrap_err(), "cannot read FILE: it is not UTF-8");
        let long = vec![b'x'; 64 * 1024 + 1];
        assert_eq!(read_from(&long).unwrap_err(), "cannot read FILE: it is longer than 65536 bytes");
        let missing = digests(Vec::new(), &["/no/such/file".into()]).unwrap_err().to_string();
        assert!(
            missing.starts_with("invalid setting `digest_files`: cannot read /no/such/file: No such file")
        );
    }

    #[test]
    fn a_malformed_digest_is_known_by_its_number() {
        let error = digests(vec!["a:b".into(), "secret".into()], &[]).unwrap_err().to_string();
        assert_eq!(error, "invalid setting `digests`: number 2 is not `user:password`");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn the_error_of_a_list_that_is_none_shows_no_digest() {
        for digests in ["5", r#"{"user": "secret"}"#, r#"["a:b", {"user": "secret"}]"#] {
            let text = format!(r#"{{"connect": "a", "digests": {digests}}}"#);
            let error = serde_json::from_str::<crate::Config>(&text).unwrap_err().to_string();
            assert!(error.contains("must be a list of texts") && !error.contains("secret"), "{error}");
        }
        #[cfg(feature = "sasl-digest")]
        {
            let error =
                serde_json::from_str::<crate::Config>(r#"{"connect": "a", "sasl_digest": 5}"#).unwrap_err();
            assert!(error.to_string().contains("`sasl_digest` must be a text"), "{error}");
            let none = serde_json::from_str::<crate::Config>(r#"{"connect": "a", "sasl_digest": null}"#);
            assert!(none.unwrap().security().unwrap().login.is_none());
        }
        let one = serde_json::from_str::<crate::Config>(r#"{"connect": "a", "digests": "u:p"}"#).unwrap();
        assert_eq!(one.security().unwrap().digests, ["u:p"]);
    }
}
