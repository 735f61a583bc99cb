//! What the compiler says about annotated functions.

#[test]
fn the_attribute_explains_itself() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
