//! Finds sentences whose subject is a question word.

/// Words that begin no sentence, unless it is a question.
const WORDS: [&str; 7] = ["What", "Who", "Whoever", "Whatever", "Whose", "Whom", "Nobody"];

/// The sentences of a document, or of the comments of a source, that begin with one of the words.
pub(super) fn questions_without_a_mark(text: &str, is_document: bool) -> Vec<String> {
    let lines = text.lines().map(|line| if is_document { Some(line.trim()) } else { comment(line) });
    let mut paragraphs = vec![String::new()];
    for line in lines.map(Option::unwrap_or_default) {
        // A bullet, a heading and a row of a table begin anew.
        if line.is_empty() || line.starts_with(['*', '-', '>', '|', '#']) {
            paragraphs.push(String::new());
        }
        let paragraph = paragraphs.last_mut().expect("there is one from the start");
        paragraph.push_str(line);
        paragraph.push(' ');
    }
    paragraphs
        .iter()
        .flat_map(|paragraph| sentences(paragraph))
        .filter(|sentence| is_meant(sentence))
        .collect()
}

fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!']).trim())
}

/// A sentence ends with its mark and a space; so do the parts between which a colon or a semicolon stands.
fn sentences(paragraph: &str) -> Vec<String> {
    paragraph
        .split_inclusive(['.', '!', '?', ':', ';', '|'])
        .map(|sentence| sentence.trim().to_owned())
        .collect()
}

/// A quotation is an example, and not a sentence of the text.
fn is_meant(sentence: &str) -> bool {
    if sentence.trim_start_matches(['*', '-', ' ']).starts_with('"') {
        return false;
    }
    let first = sentence.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| WORDS.contains(&word)) && !sentence.ends_with('?')
}
