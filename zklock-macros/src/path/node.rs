//! Checks the text of a template against ZooKeeper's rules for paths.

use syn::{Error, LitStr, Result};

use super::template::Piece;

pub(crate) fn check(template: &LitStr, pieces: &[Piece]) -> Result<()> {
    let refuse = |cause| Err(Error::new(template.span(), format!("the path {:?} {cause}", template.value())));
    cause(pieces).map_or(Ok(()), refuse)
}

/// Stands for an expression in the text. It is refused in literal text.
const VALUE: char = '\0';

fn cause(pieces: &[Piece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Expr(_) => text.push(VALUE),
            Piece::Literal(literal) => match literal.chars().find(|char| forbidden(*char)) {
                Some(char) => {
                    return Some(format!("contains {char:?}, a character that ZooKeeper does not allow"));
                }
                None => text.push_str(literal),
            },
        }
    }
    let plain = match text.strip_prefix('/') {
        None if text.is_empty() => "is empty: write for example \"/orders/{id}\"",
        None => "is relative: start it with a `/`",
        Some("") => "is the root, which cannot be a lock: name a node below it",
        Some(below) if below.ends_with('/') => "ends with a `/`",
        Some(below) => return below.split('/').find_map(cause_in_segment),
    };
    Some(plain.to_owned())
}

fn cause_in_segment(segment: &str) -> Option<String> {
    match segment {
        "" => Some("has an empty segment: write one `/` between segments".to_owned()),
        "." | ".." => Some(format!("has the segment `{segment}`, which ZooKeeper does not allow")),
        _ => (segment.matches(VALUE).count() > 1).then(|| {
            "has two expressions in one segment, so different values could name the same node\n\
             put a `/` between them"
                .to_owned()
        }),
    }
}

/// Tells whether ZooKeeper refuses the character. The server checks UTF-16 code units and refuses surrogates,
/// so it refuses every character beyond U+FFFF.
fn forbidden(char: char) -> bool {
    matches!(char, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    #[track_caller]
    fn check(template: &str, expected: Option<&str>) {
        let text = LitStr::new(template, Span::call_site());
        let pieces = crate::path::template::parse(&text).unwrap();
        assert_eq!(cause(&pieces).as_deref(), expected, "{template:?}");
    }

    #[test]
    fn good_paths_pass() {
        for template in ["/a", "/a/b", "/a/{b}", "/{a}", "/{a}/{b}", "/a-{b}.lock", "/.{a}", "/..a", "/a b/ü"]
        {
            check(template, None);
        }
        check("/zookeeper/x", None);
    }

    #[test]
    fn the_shape_is_checked() {
        check("", Some("is empty: write for example \"/orders/{id}\""));
        check("a", Some("is relative: start it with a `/`"));
        check("{a}/b", Some("is relative: start it with a `/`"));
        check("/", Some("is the root, which cannot be a lock: name a node below it"));
        check("/a/", Some("ends with a `/`"));
        check("/{a}/", Some("ends with a `/`"));
        check("//", Some("ends with a `/`"));
        check("//a", Some("has an empty segment: write one `/` between segments"));
        check("/a//{b}", Some("has an empty segment: write one `/` between segments"));
        check("/./a", Some("has the segment `.`, which ZooKeeper does not allow"));
        check("/a/..", Some("has the segment `..`, which ZooKeeper does not allow"));
    }

    #[test]
    fn characters_are_checked() {
        for char in
            ['\0', '\t', '\u{1f}', '\u{7f}', '\u{9f}', '\u{e000}', '\u{f8ff}', '\u{fff0}', '\u{ffff}', '😀']
        {
            let expected = format!("contains {char:?}, a character that ZooKeeper does not allow");
            check(&format!("/a/{char}{{b}}"), Some(&expected));
        }
        for char in [' ', '~', '\u{a0}', '\u{d7ff}', '\u{f900}', '\u{ffef}'] {
            check(&format!("/a/{char}"), None);
        }
    }

    #[test]
    fn one_expression_per_segment() {
        let two = "has two expressions in one segment, so different values could name the same node\n\
                   put a `/` between them";
        check("/{a}{b}", Some(two));
        check("/x/{a}-{b}/y", Some(two));
        check("/{a}-x/{b}", None);
    }
}
