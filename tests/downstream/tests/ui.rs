//! The compiler's messages about annotated functions that the attributes refuse.

// A file has the mistakes of one topic, and each function or module is named after its mistake. The compiler does
// not report an unknown name beside an error of a macro, so `braces_unknown_name` has a file of its own.
// Functions that the attributes accept are in `downstream::accepted`.

mod compiler;

use std::collections::BTreeSet;
use std::fs::read_to_string;
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
            let here = mistakes_in(&read(&case));
            let messages = read(&case.with_extension("stderr"));
            let messages = messages.lines().filter(|line| line.starts_with("error")).count();
            assert!(messages >= here, "{}: {messages} messages about {here} mistakes", case.display());
            mistakes += here;
        }
    }
    assert!(mistakes >= 200, "{mistakes} mistakes");
}

/// Counts the annotated functions and the modules at the root of a case.
fn mistakes_in(case: &str) -> usize {
    let starts = ["#[distributed_lock", "#[leader_only", "#[zklock::test", "mod "];
    case.lines().filter(|line| starts.iter().any(|start| line.starts_with(start))).count()
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
