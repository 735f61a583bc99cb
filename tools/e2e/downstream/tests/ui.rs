//! The compiler's messages about annotated functions that the attributes refuse.

// A file has the mistakes of one topic, and each function or module is named after its mistake. The compiler does
// not report an unknown name beside an error of a macro, so `braces_unknown_name` has a file of its own.
// Functions that the attributes accept are in `downstream::accepted`.

mod compiler;

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::compiler::Compiler;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Compares the messages about each case with the file beside the case.
#[test]
fn the_attributes_explain_themselves() {
    let compiler = Compiler::with_libraries_of("ui");
    let compare = |case: &Path| {
        let expected = Path::new(PACKAGE).join(case).with_extension("stderr");
        expect_file![expected].assert_eq(&compiler.messages(case));
    };
    // A case that fails must not hide the others.
    let fails = |case: &PathBuf| catch_unwind(|| compare(case)).is_err();
    let failed: Vec<_> = cases().into_iter().filter(fails).collect();
    assert!(failed.is_empty(), "these cases fail: {failed:?}");
}

fn cases() -> BTreeSet<PathBuf> {
    let files = Path::new(PACKAGE).join("tests/ui").read_dir().unwrap();
    let cases = files.map(|file| Path::new("tests/ui").join(file.unwrap().file_name()));
    cases.filter(|case| case.extension().is_some_and(|extension| extension == "rs")).collect()
}
