//! What is left of a function beside a mistake. `tests/it/attributes` and `tools/e2e/downstream` run the functions that the
//! attributes generate.

use super::*;

fn lock(args: &str, item: &str) -> String {
    expand(Kind::DistributedLock, args.parse().unwrap(), item.parse().unwrap()).to_string()
}

#[test]
fn the_function_stays_beside_an_error() {
    let item = "async fn settle(id: u64, _: u8) -> Result<(), E> { Ok(()) }";
    let shown = lock(r#"path = "orders""#, item).replace(' ', "");
    let function = format!("#[allow(unused_variables)]{}", item.replace(' ', ""));
    let error = r#"::core::compile_error!{"thepath\"orders\"isrelative:startitwitha`/`"}"#;
    assert_eq!(shown, function + error);
    let shown = lock(r#"path = "/orders""#, "struct Settle;").replace(' ', "");
    assert_eq!(shown, r#"structSettle;::core::compile_error!{"`#[distributed_lock]`goesonafunction"}"#);
}

#[test]
fn mistakes_on_both_sides_are_reported() {
    let shown = lock("", "const fn f() -> R {}");
    assert!(shown.contains("`path` is missing") && shown.contains("remove the `const`"), "{shown}");
}

#[test]
fn a_guard_does_not_hide_an_argument() {
    let shown = lock(r#"path = "/a/{id}", guard = id"#, "async fn f((id, _): (u64, u8)) -> R {}");
    assert!(shown.contains("`id` is an argument of `f`: give the guard another name"), "{shown}");
}

#[test]
fn a_body_that_is_still_typed_is_kept() {
    let shown = lock(r#"path = "/a""#, "async fn f(&self) -> R { self. }");
    assert!(shown.contains("{ self . }"), "{shown}");
}
