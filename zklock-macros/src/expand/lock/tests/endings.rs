//! The results of calls that do not get the lock, or lose it.

use super::*;

/// Returns the generated function without spaces and without the paths of `Ok` and `Err`.
fn shown(args: &str, item: &str) -> String {
    let shown = distributed_lock(args.parse().unwrap(), item.parse().unwrap()).to_string();
    shown.replace(' ', "").replace("::core::result::Result::", "")
}

#[track_caller]
fn check_contended(args: &str, returned: &str, failed: &str) {
    let shown = shown(&format!(r#"path = "/a", crate = k, {args}"#), "async fn f((x, _): (u8, u8)) -> R {}");
    let taken = "let__wait=k::__private::Wait::Never;\
                 matchk::__private::lock(__client,__path,__wait).await{Ok(__held)=>{let__body=";
    let told = "k::__private::told(&__error,::core::concat!(::core::module_path!(),\"::\",\"f\"));";
    let not_taken =
        format!("Err(__error)=>{{if__error.is_contended(){{{told}{returned}}}else{{{failed}}}}}}}}}");
    assert!(shown.contains(taken) && shown.ends_with(&not_taken), "{shown}");
}

#[test]
fn a_contended_call_returns_what_it_is_told() {
    let skipped = "k::__private::OnSkip::skipped()";
    let reported =
        "k::__private::OnFailure::failed(__error,::core::concat!(::core::module_path!(),\"::\",\"f\"))";
    check_contended("skip", skipped, reported);
    check_contended("otherwise = skip", skipped, reported);
    let failed = "k::__private::Carries::from_lock_error(__error)";
    check_contended("otherwise = error", failed, failed);
    check_contended("otherwise = Ok(y)", "Ok(y)", failed);
    check_contended("otherwise = Ok(x)", "let(x,_)=__argument_0;let_=(&x,);Ok(x)", failed);
    check_contended("otherwise = |e| Err(e)", "k::__private::instead(|e|Err(e),__error)", failed);
}

#[test]
fn errors_are_mapped() {
    let shown = shown(r#"path = "/a", crate = k, map_err = Failed::of, otherwise = error"#, "fn f() -> R {}");
    let mapped = "Err(k::__private::mapped(Failed::of,__error))";
    assert_eq!(shown.matches(mapped).count(), 3, "{shown}");
    assert!(!shown.contains("Carries"), "{shown}");
}

#[test]
fn a_name_takes_the_place_of_that_of_the_function() {
    let shown = shown(r#"path = "/a", crate = k, skip, name = "settle""#, "fn f() {}");
    assert!(shown.contains("k::__private::told(&__error,\"settle\");"), "{shown}");
}
