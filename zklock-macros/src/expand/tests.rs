//! The functions that the attributes generate.

use super::*;

fn lock(args: &str, item: &str) -> String {
    expand(Kind::DistributedLock, args.parse().unwrap(), item.parse().unwrap()).to_string()
}

fn lead(args: &str, item: &str) -> String {
    expand(Kind::LeaderOnly, args.parse().unwrap(), item.parse().unwrap()).to_string()
}

#[track_caller]
fn check(shown: &str, expected: &str) {
    assert_eq!(pretty(shown), pretty(expected));
}

fn pretty(file: &str) -> String {
    prettyplease::unparse(&syn::parse_file(file).unwrap())
}

/// Returns the generated code without spaces and without the paths of `Ok`, `Err` and the facade.
fn short(shown: &str) -> String {
    let shown = shown.replace(' ', "").replace("::core::result::Result::", "");
    shown.replace("::core::option::Option::", "").replace("k::__private::", "")
}

#[test]
fn a_function_is_locked() {
    check(
        &lock(
            r#"path = "/orders/{order.id}", wait = "5s""#,
            "/// Settles.
            pub async fn settle(order: &Order) -> Result<Receipt, SettleError> { order.settle().await }",
        ),
        r#"
        /// Settles.
        pub async fn settle(order: &Order) -> Result<Receipt, SettleError> {
            let __path = ::zklock::__private::Paths::new()
                .template("/orders/{order.id}")
                .literal("/orders/")
                .segment(&(order.id));
            let __client = ::zklock::__private::client();
            let __wait = ::zklock::__private::Wait::For(::core::time::Duration::new(5u64, 0u32));
            match ::zklock::__private::mutex(__client, __path, __wait).await {
                ::core::result::Result::Ok(__held) => {
                    let __body = async move {
                        if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<Result<Receipt, SettleError>> {
                            return __output;
                        }
                        let order = order;
                        let _ = &order;
                        { order.settle().await }
                    };
                    match __held.run(__body).await {
                        ::core::result::Result::Ok(__output) => {
                            __held.finish().await;
                            __output
                        }
                        ::core::result::Result::Err(__error) => {
                            ::core::mem::drop(__held);
                            ::zklock::__private::Carries::from_lock_error(__error)
                        }
                    }
                }
                ::core::result::Result::Err(__error) => ::zklock::__private::Carries::from_lock_error(__error),
            }
        }"#,
    );
}

#[test]
fn every_argument_has_its_place() {
    check(
        &lock(
            r#"path = key(&self.0), wait = forever, client = "reporting", guard = held, name = "list", crate = crate::zk"#,
            "#[tracing::instrument]
            async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
                #![allow(unused)]
                Ok(held.list())
            }",
        ),
        r#"
        #[tracing::instrument]
        async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
            #![allow(unused)]
            let __path = crate::zk::__private::Paths::new().text(&(key(&self.0))).named("list");
            let __client = crate::zk::__private::named_client("reporting");
            let __wait = crate::zk::__private::Wait::Forever;
            match crate::zk::__private::mutex(__client, __path, __wait).await {
                ::core::result::Result::Ok(__held) => {
                    let held = &__held;
                    let __body = async move {
                        if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<Result<_, E>> {
                            return __output;
                        }
                        let _ = &self;
                        { Ok(held.list()) }
                    };
                    match __held.run(__body).await {
                        ::core::result::Result::Ok(__output) => {
                            __held.finish().await;
                            __output
                        }
                        ::core::result::Result::Err(__error) => {
                            ::core::mem::drop(__held);
                            crate::zk::__private::Carries::from_lock_error(__error)
                        }
                    }
                }
                ::core::result::Result::Err(__error) => crate::zk::__private::Carries::from_lock_error(__error),
            }
        }"#,
    );
}

#[test]
fn a_function_that_is_not_async_blocks() {
    let failed = "Carries::from_lock_error(__error)";
    let shown =
        short(&lock("path = p, crate = k", "fn settle(&mut self, order: Order) -> R { self.go(order)? }"));
    let expected = format!(
        "matchblocking::wait(mutex(__client,__path,__wait)){{Ok(__held)=>{{\
         let__body=blocking::body(move||{{ifletSome(__output)=None::<R>{{return__output;}}\
         letorder=order;{{self.go(order)?}}}});\
         match__held.run_blocking(__body){{Ok(__output)=>{{blocking::finish(__held.finish());__output}}\
         Err(__error)=>{{::core::mem::drop(__held);{failed}}}}}}}Err(__error)=>{failed},}}}}"
    );
    assert!(shown.ends_with(&expected), "{shown}");
}

#[test]
fn a_function_runs_under_its_term() {
    let failed = "OnFailure::failed(__error,::core::concat!(::core::module_path!(),\"::\",\"sweep\"))";
    let shown = short(&lead("guard = held, crate = k", "async fn sweep() { held.verify().await; }"));
    let expected = format!(
        "asyncfnsweep(){{let__path=Paths::new().template(\"/leader\").literal(\"/leader\");\
         let__client=client();let__wait=Wait::Never;\
         matchterm(__client,__path,__wait).await{{Ok(__held)=>{{letheld=__held.leadership();\
         let__body=asyncmove{{ifletSome(__output)=None::<()>{{return__output;}}{{held.verify().await;}}}};\
         match__held.run(__body).await{{Ok(__output)=>{{__held.finish().await;__output}}\
         Err(__error)=>{{::core::mem::drop(__held);{failed}}}}}}}\
         Err(__error)ifis_skipped(&__error,::core::concat!(::core::module_path!(),\"::\",\"sweep\"))\
         =>{{OnSkip::skipped()}}Err(__error)=>{failed},}}}}"
    );
    assert_eq!(shown, expected);
}

#[test]
fn a_body_runs_to_its_end_if_told_to() {
    for shown in [
        lock("path = p, on_lost = finish", "async fn f() -> R {}"),
        lead("on_lost = finish", "async fn f() {}"),
    ] {
        assert!(short(&shown).contains("match__held.run_to_end(__body).await{"), "{shown}");
    }
    let shown = lock("path = p, on_lost = cancel", "fn f() -> R {}");
    assert!(shown.contains("remove `on_lost`"), "{shown}");
}

#[test]
fn a_boxed_body_is_locked_in_its_box() {
    let item = "fn settle<'a>(&'a self) -> Pin<Box<dyn Future<Output = R> + Send + 'a>> {
        Box::pin(async move { self.go().await })
    }";
    let shown = lock(r#"path = "/a""#, item);
    let (outside, inside) = shown.split_once("__path").unwrap();
    let typed = "Option :: None :: < R > { return __output ; }";
    assert!(outside.contains("{ Box :: pin (async move { if let") && outside.contains(typed), "{shown}");
    assert!(inside.contains(typed) && inside.contains("self . go ()"), "{shown}");
}

#[test]
fn the_function_stays_beside_an_error() {
    check(
        &lock(r#"path = "orders""#, "async fn settle(id: u64, _: u8) -> Result<(), E> { Ok(()) }"),
        r#"
        #[allow(unused_variables)]
        async fn settle(id: u64, _: u8) -> Result<(), E> { Ok(()) }
        ::core::compile_error! { "the path \"orders\" is relative: start it with a `/`" }"#,
    );
    check(
        &lead("", "struct Settle;"),
        "struct Settle;
        ::core::compile_error! { \"`#[leader_only]` goes on a function\" }",
    );
}

#[test]
fn mistakes_on_both_sides_are_reported() {
    let shown = lock("", "const fn f() -> R {}");
    assert!(shown.contains("`path` is missing") && shown.contains("remove the `const`"), "{shown}");
}

#[test]
fn a_body_that_is_still_typed_is_kept() {
    let shown = lock(r#"path = "/a""#, "async fn f(&self) -> R { self. }");
    assert!(shown.contains("{ self . }"), "{shown}");
}

#[test]
fn a_call_that_takes_nothing_returns_what_it_is_told() {
    let (name, item) =
        ("::core::concat!(::core::module_path!(),\"::\",\"f\")", "async fn f((x, _): (u8, u8)) -> R {}");
    let skipped = "OnSkip::skipped()".to_owned();
    let reported = format!("OnFailure::failed(__error,{name})");
    let failed = "Carries::from_lock_error(__error)".to_owned();
    for (args, value, failed) in [
        ("skip", &skipped, &reported),
        ("otherwise = skip", &skipped, &reported),
        ("otherwise = error", &failed, &failed),
        ("otherwise = Ok(y)", &"Ok(y)".to_owned(), &failed),
        ("otherwise = Ok(x)", &"let(x,_)=__argument_0;let_=(&x,);Ok(x)".to_owned(), &failed),
        ("otherwise = |e| Err(e)", &"instead(|e|Err(e),__error)".to_owned(), &failed),
    ] {
        let not_taken =
            format!("Err(__error)ifis_skipped(&__error,{name})=>{{{value}}}Err(__error)=>{failed},}}}}");
        let shown = short(&lock(&format!(r#"path = "/a", crate = k, {args}"#), item));
        assert!(shown.contains("let__wait=Wait::Never;matchmutex("), "{shown}");
        assert!(shown.ends_with(&not_taken), "{shown}");
        if args.starts_with("otherwise") {
            let shown = short(&lead(&format!("crate = k, {args}"), item));
            assert!(shown.contains(&format!(",{name})=>{{{value}}}Err(__error)=>{reported},")), "{shown}");
        }
    }
    let waits = short(&lead("crate = k, otherwise = wait", item));
    assert!(waits.contains("let__wait=Wait::Forever;matchterm("), "{waits}");
    assert!(waits.ends_with(&format!("Err(__error)=>{reported},}}}}")), "{waits}");
}

#[test]
fn errors_are_mapped() {
    let shown =
        short(&lock(r#"path = "/a", crate = k, map_err = Failed::of, otherwise = error"#, "fn f() -> R {}"));
    assert_eq!(shown.matches("Err(mapped(Failed::of,__error))").count(), 3, "{shown}");
    assert!(!shown.contains("Carries"), "{shown}");
}

#[test]
fn a_name_takes_the_place_of_that_of_the_function() {
    let shown = short(&lock(r#"path = "/a", crate = k, skip, name = "settle""#, "fn f() {}"));
    assert!(
        shown.contains("is_skipped(&__error,\"settle\")") && shown.contains(".named(\"settle\");"),
        "{shown}"
    );
}

#[test]
fn the_mode_and_the_number_of_paths_say_what_is_called() {
    for (args, call) in [
        ("path = p, guard = held", "mutex(__client,__path,__wait)"),
        ("path = p, mode = read", "read(__client,__path,__wait)"),
        ("path = p, mode = write", "write(__client,__path,__wait)"),
        ("path = [p, q()]", "all(__client,__path,Member::mutex,__wait)"),
        ("path = [p, q()], mode = read", "all(__client,__path,Member::read,__wait)"),
        ("path = [p, q()], mode = write", "all(__client,__path,Member::write,__wait)"),
        ("path = p, of = 5", "permits(__client,__path,__permits,__wait)"),
    ] {
        let shown = short(&lock(&format!("{args}, crate = k"), "async fn f() -> R {}"));
        assert!(shown.contains(&format!("match{call}.await{{Ok(__held)=>")), "{shown}");
    }
    let shown = short(&lock("path = p, of = MOST, permits = n + 1, crate = k", "async fn f() -> R {}"));
    let permits = "let__permits=({letwanted:::core::primitive::u32=n+1;wanted},number(MOST));";
    assert!(shown.contains(permits), "{shown}");
}

#[test]
fn a_period_is_begun_before_the_body() {
    let later = "Ok(None)=>OnSkip::skipped(),Err(__error)";
    for (item, call) in [
        ("async fn f() -> R {}", "begin(__once,all(__client,__path,Member::mutex,__wait)).await"),
        ("fn f() -> R {}", "blocking::wait(begin(__once,all(__client,__path,Member::mutex,__wait)))"),
    ] {
        let shown = short(&lock("path = [p, q], once_per = every, tick = t, crate = k", item));
        assert!(shown.contains("let__once=Once::at(Paths::new().text(&(t)),"), "{shown}");
        assert!(shown.contains(&format!("match{call}{{Ok(Some(__held))=>{{let__body=")), "{shown}");
        assert!(shown.contains(later), "{shown}");
    }
    let shown = short(&lead(r#"once_per = "1m", crate = k"#, "async fn f() {}"));
    assert!(shown.contains("matchbegin_term(__once,term(__client,__path,__wait)).await{"), "{shown}");
    assert!(shown.contains("Once::of(&__FUNCTION,&__path,") && shown.contains(later), "{shown}");
}
