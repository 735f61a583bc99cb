//! What the compiler says about annotated functions.

#[test]
fn the_attribute_explains_itself() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}

#[cfg(feature = "testing")]
#[test]
fn the_test_attribute_explains_itself() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/testing/*.rs");
}
