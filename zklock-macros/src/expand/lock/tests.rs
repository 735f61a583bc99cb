//! The functions that `#[distributed_lock]` generates.

mod endings;
mod taking;

use quote::quote;

use super::*;

#[track_caller]
fn check(args: &str, item: &str, expected: &str) {
    let shown = distributed_lock(args.parse().unwrap(), item.parse().unwrap());
    assert_eq!(pretty(&shown.to_string()), pretty(expected));
}

fn pretty(file: &str) -> String {
    prettyplease::unparse(&syn::parse_file(file).unwrap())
}

#[test]
fn a_function_is_locked() {
    check(
        r#"path = "/orders/{order.id}", wait = "5s""#,
        "/// Settles.
        pub async fn settle(order: &Order) -> Result<Receipt, SettleError> { order.settle().await }",
        r#"
        /// Settles.
        pub async fn settle(order: &Order) -> Result<Receipt, SettleError> {
            let mut __path = ::zklock::__private::PathTemplate::new("/orders/{order.id}")
                .literal("/orders/")
                .segment(&(order.id))
                .finish();
            let __client = ::zklock::__private::default_client();
            let __wait = ::zklock::__private::Wait::For(::core::time::Duration::new(5u64, 0u32));
            ::zklock::__private::run_mutexed(__client, &mut __path, __wait, async move {
                if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<Result<Receipt, SettleError>> {
                    return __output;
                }
                let order = order;
                let _ = &order;
                { order.settle().await }
            }, |__error| ::zklock::__private::Carries::from_lock_error(__error)).await
        }"#,
    );
}

#[test]
fn every_argument_has_its_place() {
    check(
        r#"path = key(&self.0), wait = forever, client = "reporting", guard = held, crate = crate::zk"#,
        "#[tracing::instrument]
        async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
            #![allow(unused)]
            Ok(held.list())
        }",
        r#"
        #[tracing::instrument]
        async unsafe fn list<const N: usize>(self: Arc<Self>) -> Result<impl Iterator<Item = u8> + use<N>, E> {
            #![allow(unused)]
            let __path = crate::zk::__private::path_of(&(key(&self.0)));
            let __client = crate::zk::__private::named_client("reporting");
            let __wait = crate::zk::__private::Wait::Forever;
            match crate::zk::__private::lock(__client, __path, __wait).await {
                ::core::result::Result::Ok(__held) => {
            let held = &__held;
            let __body = async move {
                if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<Result<_, E>> {
                    return __output;
                }
                let _ = &self;
                { Ok(held.list()) }
            };
            let __output = crate::zk::__private::run(&__held, __body).await;
            match __output {
                ::core::result::Result::Ok(__output) => {
                    crate::zk::__private::release(__held).await;
                    __output
                }
                ::core::result::Result::Err(__error) => {
                            crate::zk::__private::Carries::from_lock_error(__error)
                }
            }
                }
                ::core::result::Result::Err(__error) => { crate::zk::__private::Carries::from_lock_error(__error) }
            }
        }"#,
    );
}

#[test]
fn a_function_that_is_not_async_blocks() {
    check(
        r#"path = p, crate = k"#,
        "fn settle(&mut self, order: Order) -> R { self.go(order)? }",
        r#"
        fn settle(&mut self, order: Order) -> R {
            let __path = k::__private::path_of(&(p));
            let __client = k::__private::default_client();
            let __wait = k::__private::Wait::Default;
            match k::__private::blocking::lock(__client, __path, __wait) {
                ::core::result::Result::Ok(__held) => {
            let __body = k::__private::blocking::body(move || {
                if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<R> {
                    return __output;
                }
                let order = order;
                { self.go(order)? }
            });
            let __output = k::__private::blocking::run(&__held, __body);
            match __output {
                ::core::result::Result::Ok(__output) => {
                    k::__private::blocking::release(__held);
                    __output
                }
                ::core::result::Result::Err(__error) => {
                            k::__private::Carries::from_lock_error(__error)
                }
            }
                }
                ::core::result::Result::Err(__error) => { k::__private::Carries::from_lock_error(__error) }
            }
        }"#,
    );
}

#[test]
fn a_body_runs_to_its_end_if_told_to() {
    let shown = |args: &str| {
        let item = quote!(
            async fn f() -> R {}
        );
        distributed_lock(args.parse().unwrap(), item).to_string().replace(' ', "")
    };
    assert!(shown("path = p, on_lost = finish").contains("::run_to_end(&__held,__body).await;"));
    for cancelled in ["path = p", "path = p, on_lost = cancel"] {
        assert!(
            shown(cancelled).contains("::run_mutexed(__client,&mut__path,__wait,asyncmove{"),
            "{cancelled}"
        );
    }
    for cancelled in ["path = p, mode = read", "path = p, skip", "path = p, map_err = of"] {
        assert!(shown(cancelled).contains("::run_and_release(__held,__body).await{"), "{cancelled}");
    }
}

#[test]
fn a_body_that_is_never_dropped_is_not_to_be_cancelled() {
    let shown = distributed_lock(
        quote!(path = p, on_lost = cancel),
        quote!(
            fn f() -> R {}
        ),
    );
    assert!(shown.to_string().contains("remove `on_lost`"), "{shown}");
}

#[test]
fn a_boxed_body_is_locked_in_its_box() {
    let item = quote! {
        fn settle<'a>(&'a self) -> Pin<Box<dyn Future<Output = R> + Send + 'a>> {
            Box::pin(async move { self.go().await })
        }
    };
    let shown = distributed_lock(quote!(path = "/a"), item).to_string();
    let (outside, inside) = shown.split_once("__path").unwrap();
    let typed = "Option :: None :: < R > { return __output ; }";
    assert!(outside.contains("{ Box :: pin (async move { if let") && outside.contains(typed), "{shown}");
    assert!(inside.contains(typed) && inside.contains("self . go ()"), "{shown}");
}

#[test]
fn the_function_stays_beside_an_error() {
    check(
        r#"path = "orders""#,
        "async fn settle(id: u64, _: u8) -> Result<(), E> { Ok(()) }",
        r#"
        async fn settle(id: u64, _: u8) -> Result<(), E> { let _ = (&id,); let _ = (); Ok(()) }
        ::core::compile_error! { "the path \"orders\" is relative: start it with a `/`" }"#,
    );
    check(
        r#"path = "/orders""#,
        "struct Settle;",
        "struct Settle;
        ::core::compile_error! { \"`#[distributed_lock]` goes on a function, this is a `struct`\" }",
    );
}

#[test]
fn mistakes_on_both_sides_are_reported() {
    let shown = distributed_lock(
        TokenStream::new(),
        quote!(
            const fn f() -> R {}
        ),
    )
    .to_string();
    assert!(shown.contains("`path` is missing") && shown.contains("remove the `const`"), "{shown}");
}

#[test]
fn a_body_that_is_still_typed_is_kept() {
    let shown = distributed_lock(quote!(path = "/a"), quote!(async fn f(&self) -> R { self. }));
    assert!(shown.to_string().contains("{ self . }"), "{shown}");
}
