//! The compiler's messages about annotated functions that the attributes refuse.

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
