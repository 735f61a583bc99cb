//! The documents and pictures with the results of a run.
//!
//! * `parts`: the parts of documents that have figures.
//! * `alone`: those parts that describe measurements without other libraries.
//! * `pictures`: the pictures.

use std::fs;

use super::results::Results;
use crate::step::{Outcome, announce, root};

mod alone;
mod parts;
mod pictures;

/// Draws the pictures, and writes the figures into the documents.
pub(crate) fn write(results: &Results) -> Outcome {
    let pictures = root().join("docs/performance");
    fs::create_dir_all(&pictures)?;
    pictures::draw(results, &pictures)?;
    for (document, parts) in
        [("docs/performance.md", parts::speed(results)?), ("README.md", parts::readme(results)?)]
    {
        let path = root().join(document);
        let text = filled(&fs::read_to_string(&path)?, &parts);
        fs::write(&path, text.map_err(|error| format!("{document}: {error}"))?)?;
        announce(&format!("wrote {document}"));
    }
    Ok(())
}

/// Replaces the parts of a document that stand between a comment with their name and the next comment.
fn filled(text: &str, parts: &[(&str, String)]) -> Outcome<String> {
    let mut text = text.to_owned();
    for (name, part) in parts {
        let open = format!("<!-- figures: {name} -->\n");
        let start = text.find(&open).ok_or_else(|| format!("there is no part `{name}`"))? + open.len();
        let length = text[start..].find(CLOSE).ok_or_else(|| format!("the part `{name}` has no end"))?;
        text.replace_range(start..start + length, &format!("{}\n", part.trim_end()));
    }
    Ok(text)
}

const CLOSE: &str = "<!-- end of figures -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_document_are_replaced_and_its_other_text_stays() {
        let text = "Before.\n<!-- figures: a -->\nold\n<!-- end of figures -->\nBetween.\n\
                    <!-- figures: b -->\n<!-- end of figures -->\nAfter.\n";
        let parts = [("a", "new".to_owned()), ("b", "1\n2\n".to_owned())];
        let expected = text.replace("old", "new").replace("b -->\n", "b -->\n1\n2\n");
        assert_eq!(filled(text, &parts).unwrap(), expected);
        assert_eq!(filled(&expected, &parts).unwrap(), expected);
    }

    #[test]
    fn a_part_without_a_place_is_refused() {
        for text in ["", "<!-- figures: a -->\n"] {
            assert!(filled(text, &[("a", String::new())]).is_err(), "{text:?}");
        }
    }
}
