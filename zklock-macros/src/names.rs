//! Error messages about unknown arguments and values, with a suggestion.
//!
//! Uses no other module.

mod others;

use syn::{Error, Ident};

/// The words that other lock libraries use for an argument or a value of zklock.
const SYNONYMS: [(&str, &str); 32] = [
    ("key", "path"),
    ("id", "path"),
    ("lock", "path"),
    ("resource", "path"),
    ("node", "path"),
    ("role", "path"),
    ("election", "path"),
    ("group", "path"),
    ("timeout", "wait"),
    ("wait_for", "wait"),
    ("wait_timeout", "wait"),
    ("acquire_timeout", "wait"),
    ("max_wait", "wait"),
    ("connection", "client"),
    ("conn", "client"),
    ("pool", "client"),
    ("zk", "client"),
    ("term", "guard"),
    ("held", "guard"),
    ("token", "guard"),
    ("else", "otherwise"),
    ("or_else", "otherwise"),
    ("default", "otherwise"),
    ("fallback", "otherwise"),
    ("on_contended", "otherwise"),
    ("on_error", "map_err"),
    ("error", "map_err"),
    ("try_lock", "no_wait"),
    ("limit", "permits"),
    ("read", "mode"),
    ("shared", "read"),
    ("drop", "cancel"),
];

/// Returns the error about the unknown argument `name` of an attribute that takes the arguments `known`.
pub(crate) fn unknown(name: &Ident, known: &[&str]) -> Error {
    let message = match others::instead(&name.to_string(), known) {
        Some(instead) => format!("there is no argument `{name}`\n{instead}"),
        None => {
            let hint = hint(name, known);
            format!("unknown argument `{name}`{hint}\nthe arguments are {}", listed(known))
        }
    };
    Error::new(name.span(), message)
}

/// Tells whether the unknown argument `name` most likely stands for `argument`.
pub(crate) fn means(name: &Ident, argument: &str) -> bool {
    nearest(&name.to_string(), &[argument]).is_some()
}

/// Returns the question whether a known word was meant; empty if no known word is similar.
pub(crate) fn hint(name: &Ident, known: &[&str]) -> String {
    let meant = nearest(&name.to_string(), known);
    meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default()
}

/// Returns the names in the table of arguments of a document, to compare them with those that a parser knows.
#[cfg(test)]
pub(crate) fn in_table(document: &str) -> std::collections::BTreeSet<&str> {
    let rows = document.lines().skip_while(|line| !line.starts_with("| argument")).skip(2);
    let cells = rows.map_while(|row| row.strip_prefix('|')).filter_map(|row| row.split('|').next());
    let codes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    codes.filter_map(|code| code.split([' ', '=']).next()).collect()
}

fn listed(known: &[&str]) -> String {
    known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == name).map(|(_, meant)| *meant);
    known.iter().copied().find(|other| Some(*other) == synonym).or_else(|| similar(name, known))
}

/// Returns the known word of which `name` may be a misspelling.
pub(crate) fn similar<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let close = known.iter().map(|other| (distance(name, other), *other));
    close.filter(|(edits, other)| *edits <= other.len() / 2 && *edits <= 2).min().map(|(_, other)| other)
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
    fn an_argument_that_zklock_does_without_is_explained() {
        let error = |name| unknown(&syn::parse_str(name).unwrap(), &KNOWN).to_string();
        assert!(error("ttl").starts_with("there is no argument `ttl`\nnothing runs out while the body"));
        assert!(error("pth").starts_with("unknown argument `pth`, did you mean `path`?"));
    }

    #[test]
    fn anything_else_is_not_guessed() {
        check("skip", None);
        check("ttl", None);
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
