//! The compiler's messages without the things that differ between machines. Uses no other module.

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Renames the files of libraries, and leaves out the numbers of their lines, which change with the libraries.
pub(crate) fn portable(message: &str) -> String {
    let mut lines = Vec::new();
    let mut library = None;
    for line in message.trim_end().lines() {
        let (margin, text) = split(line);
        let is_source = text.starts_with('|') || text.starts_with("...");
        if let Some(place) = place(text) {
            library = library_file(place);
            lines.push(line.replace(place, library.as_deref().unwrap_or(place)));
        } else if let (Some(file), true) = (&library, is_source) {
            // The compiler shows lines of the standard library only where its sources are installed.
            if !file.starts_with("$RUST") {
                lines.push(" ".repeat(margin.len()) + text);
            }
        } else {
            // A note without a place of its own shows lines of the case.
            if margin.is_empty() {
                library = None;
            }
            lines.push(line.to_owned());
        }
    }
    narrow(&mut lines);
    lines.join("\n")
}

/// Narrows the margin to the numbers that are left. It was as wide as the greatest number, possibly a library's.
fn narrow(lines: &mut [String]) {
    let margins = lines.iter().map(|line| split(line).0).filter(|margin| !margin.trim().is_empty());
    let spare = margins.map(|margin| margin.len() - margin.trim_start().len()).min().unwrap_or(0);
    let is_header = |line: &&mut String| place(split(line).1).is_none();
    for line in lines.iter_mut().skip_while(is_header) {
        if line.starts_with(&" ".repeat(spare)) {
            line.drain(..spare);
        }
    }
}

/// Splits a line behind the margin, which has the number of a line of source code.
fn split(line: &str) -> (&str, &str) {
    let text = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
    line.split_at(line.len() - text.len())
}

/// Returns the file, line and column that a line of a message names.
fn place(text: &str) -> Option<&str> {
    text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: "))
}

/// Returns the name of a library's file on any machine, or nothing if the place is in a case.
fn library_file(place: &str) -> Option<String> {
    let (file, _) = place.split_once(".rs:")?;
    let zklock = PACKAGE.strip_suffix("/tools/e2e/downstream")?;
    let of_zklock = || Some(("$ZKLOCK", file.strip_prefix(zklock)?.strip_prefix('/')?));
    // The directory between has a hash in its name.
    let of_registry = || Some(("$CARGO", file.split_once("/registry/src/")?.1.split_once('/')?.1));
    let of_rust = || Some(("$RUST", file.rsplit_once("/library/")?.1));
    let (library, file) = of_zklock().or_else(of_registry).or_else(of_rust)?;
    Some(format!("{library}/{file}.rs"))
}
