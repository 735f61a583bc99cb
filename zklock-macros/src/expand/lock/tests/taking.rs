//! The locks that a function takes, and the period that it begins under them.

use super::*;

/// Checks the statements from the path up to the call that takes the lock.
#[track_caller]
fn check_taking(args: &str, expected: &str) {
    let item = quote!(
        async fn f() -> R {}
    );
    let shown = distributed_lock(args.parse().unwrap(), item).to_string().replace(' ', "");
    let taking = shown.split_once("let__path=").unwrap().1.split_once("{::core::result").unwrap().0;
    assert_eq!(taking, expected, "{args}");
}

#[test]
fn a_mode_takes_one_side_of_a_read_write_lock() {
    for (mode, call) in [
        ("map_err = of,", "lock"),
        ("guard = held,", "lock"),
        ("on_lost = finish,", "lock"),
        ("mode = read,", "read"),
        ("mode = write,", "write"),
    ] {
        check_taking(
            &format!("{mode} path = p, crate = k"),
            &format!(
                "k::__private::path_of(&(p));\
                 let__client=k::__private::default_client();\
                 let__wait=k::__private::Wait::Default;\
                 matchk::__private::{call}(__client,__path,__wait).await"
            ),
        );
    }
}

#[test]
fn several_paths_are_taken_together() {
    for (mode, member) in [("", "mutex"), ("mode = read,", "read"), ("mode = write,", "write")] {
        check_taking(
            &format!("{mode} path = [p, q()], crate = k"),
            &format!(
                "[k::__private::path_of(&(p)),k::__private::path_of(&(q()))];\
                 let__client=k::__private::default_client();\
                 let__wait=k::__private::Wait::Default;\
                 matchk::__private::lock_all(__client,__path,k::__private::Member::{member},__wait).await"
            ),
        );
    }
}

#[test]
fn a_period_is_begun_under_the_lock_and_before_the_body() {
    for (item, module, awaited) in
        [("async fn f() -> R {}", "", ".await"), ("fn f() -> R {}", "blocking::", "")]
    {
        let args = quote!(path = [p, q], once_per = every, tick = t, crate = k);
        let shown = distributed_lock(args, item.parse().unwrap()).to_string().replace(' ', "");
        let once = "let__once=k::__private::Once::at(k::__private::path_of(&(t)),&__path,";
        let begun = format!(
            "matchk::__private::{module}begin(__once,::core::clone::Clone::clone(&__client),\
             k::__private::lock_all(__client,__path,k::__private::Member::mutex,__wait)){awaited}{{\
             k::__private::Start::Now(__held)=>{{let__body="
        );
        let not_begun = "k::__private::Start::Later=>k::__private::OnSkip::skipped(),\
                         k::__private::Start::Failed(__error)=>{k::__private::Carries::from_lock_error(__error)}}}";
        assert!(shown.contains(once) && shown.contains(&begun) && shown.ends_with(not_begun), "{shown}");
    }
}
