//! The compiler's messages about annotated functions that the attributes refuse.

// A file has the mistakes of one topic, and each function or module is named after its mistake. The compiler does
// not report an unknown name beside an error of a macro, so `braces_unknown_name` has a file of its own.
// Functions that the attributes accept are in `downstream::accepted`.

mod compiler;

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::ops::Range;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::compiler::Compiler;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_attributes_explain_themselves() {
    check("tests/ui");
}

#[test]
fn the_test_attribute_explains_itself() {
    check("tests/ui/testing");
}

#[test]
fn every_mistake_has_a_message_of_its_own() {
    let mut mistakes = 0;
    for directory in ["tests/ui", "tests/ui/testing"] {
        for case in cases(directory).unwrap() {
            let case = Path::new(PACKAGE).join(case);
            let read = |file: &Path| read_to_string(file).unwrap();
            let items = items_in(&read(&case));
            let lines = lines_of_errors(&read(&case.with_extension("stderr")));
            let unexplained: Vec<_> =
                items.iter().filter(|item| !lines.iter().any(|line| item.contains(line))).collect();
            assert!(unexplained.is_empty(), "{}: no error in the lines {unexplained:?}", case.display());
            mistakes += items.len();
        }
    }
    assert!(mistakes >= 200, "{mistakes} mistakes");
}

/// Returns the lines of each annotated function and each module at the root of a case, up to the next one.
fn items_in(case: &str) -> Vec<Range<usize>> {
    let words = ["#[distributed_lock", "#[leader_only", "#[zklock::test", "mod "];
    let is_item = |line: &str| words.iter().any(|word| line.starts_with(word));
    let lines: Vec<_> = case.lines().collect();
    // Other attributes may stand above those of zklock.
    let above = |at: usize| lines[..at].iter().rev().take_while(|line| line.starts_with("#[")).count();
    let items = (0..lines.len()).filter(|at| is_item(lines[*at])).map(|at| at + 1 - above(at));
    let starts: Vec<_> = items.collect::<BTreeSet<_>>().into_iter().collect();
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// Returns the lines of a case at which its errors are reported. Notes and suggestions have places of their own.
fn lines_of_errors(messages: &str) -> Vec<usize> {
    let mut lines = messages.lines();
    let mut found = Vec::new();
    while lines.by_ref().any(|line| line.starts_with("error")) {
        let place = lines.by_ref().find_map(|line| line.trim_start().strip_prefix("--> ")).unwrap();
        let line = place.rsplit(':').nth(1).unwrap();
        found.push(line.parse().unwrap());
    }
    found
}

/// Compares the messages about each case of a directory with the file beside the case.
fn check(directory: &str) {
    let cases = cases(directory).unwrap_or_else(|error| panic!("{directory}: {error}"));
    assert!(!cases.is_empty(), "{directory} has no cases");
    let compiler = Compiler::with_libraries_of("ui");
    let compare = |case: &Path| {
        let expected = Path::new(PACKAGE).join(case).with_extension("stderr");
        expect_file![expected].assert_eq(&compiler.messages(case));
    };
    // A case that fails must not hide the others.
    let fails = |case: &PathBuf| catch_unwind(|| compare(case)).is_err();
    let failed: Vec<_> = cases.into_iter().filter(fails).collect();
    assert!(failed.is_empty(), "these cases fail: {failed:?}");
}

fn cases(directory: &str) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut cases = BTreeSet::new();
    for file in Path::new(PACKAGE).join(directory).read_dir()? {
        let file = Path::new(directory).join(file?.file_name());
        if file.extension().is_some_and(|extension| extension == "rs") {
            cases.insert(file);
        }
    }
    Ok(cases)
}
