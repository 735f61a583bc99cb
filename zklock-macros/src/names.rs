//! Error messages about unknown arguments and values, with a suggestion.
//!
//! Uses no other module.

use syn::{Error, Ident};

/// The words that other lock libraries use for an argument or a value of zklock.
const SYNONYMS: [(&str, &str); 8] = [
    ("key", "path"),
    ("on_contended", "otherwise"),
    ("timeout", "wait"),
    ("wait_for", "wait"),
    ("ensemble", "client"),
    ("lease", "guard"),
    ("shared", "read"),
    ("drop", "cancel"),
];

/// Returns the error about the unknown argument `name` of an attribute that takes the arguments `known`.
pub(crate) fn unknown(name: &Ident, known: &[&str]) -> Error {
    let hint = hint(name, known);
    let message = format!("unknown argument `{name}`{hint}\nthe arguments are {}", listed(known));
    Error::new(name.span(), message)
}

/// Returns the question whether a known word was meant; empty if no known word is similar.
pub(crate) fn hint(name: &Ident, known: &[&str]) -> String {
    let meant = nearest(&name.to_string(), known);
    meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default()
}

fn listed(known: &[&str]) -> String {
    known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == name).map(|(_, meant)| *meant);
    let misspelt = || {
        let close = known.iter().map(|other| (distance(name, other), *other));
        close.filter(|(edits, other)| *edits <= other.len() / 2 && *edits <= 2).min().map(|(_, other)| other)
    };
    known.iter().copied().find(|other| Some(*other) == synonym).or_else(misspelt)
}

/// Returns the Levenshtein distance: the number of letters to insert, drop or replace.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, left) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, right) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = ["path", "mode", "wait", "client", "guard", "crate"];

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, &KNOWN), expected, "{name}");
    }

    #[test]
    fn a_slip_is_recognised() {
        check("waits", Some("wait"));
        check("wiat", Some("wait"));
        check("pth", Some("path"));
        check("clients", Some("client"));
        check("gaurd", Some("guard"));
    }

    #[test]
    fn another_word_for_it_is_recognised() {
        check("timeout", Some("wait"));
        check("key", Some("path"));
        assert_eq!(nearest("shared", &["read", "write"]), Some("read"));
    }

    #[test]
    fn anything_else_is_not_guessed() {
        check("skip", None);
        check("shared", None);
        check("x", None);
    }

    #[test]
    fn the_distance_counts_edits() {
        for (from, to, edits) in
            [("", "wait", 4), ("wait", "wait", 0), ("waits", "wait", 1), ("wiat", "wait", 2)]
        {
            assert_eq!(distance(from, to), edits, "{from} {to}");
        }
    }
}
