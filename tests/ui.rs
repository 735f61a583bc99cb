//! What the compiler says about annotated functions that it refuses.

// What it accepts is in `downstream::accepted`: beside a case that has to compile, trybuild would build one after the
// other those that it checks all at once.

#[test]
fn the_attributes_explain_themselves() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}

#[cfg(feature = "testing")]
#[test]
fn the_test_attribute_explains_itself() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/testing/*.rs");
}
