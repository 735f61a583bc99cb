//! The compiler's messages about annotated functions that the attributes refuse.

// A file has the mistakes of one topic, and each function or module is named after its mistake. The compiler does
// not report an unknown name beside an error of a macro, so `braces_unknown_name` has a file of its own.
//
// Functions that they accept are in `downstream::accepted`. If a case had to compile, trybuild would build
// all cases one after the other, instead of checking them at once.

#[test]
fn the_attributes_explain_themselves() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}

#[test]
fn the_test_attribute_explains_itself() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/testing/*.rs");
}
