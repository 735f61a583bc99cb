//! The argument `wait = …`: bounds the whole acquisition.
//!
//! Uses only `duration` and `grouped`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Result};

use crate::duration::{Argument, Length};
use crate::grouped::{string, ungroup};

/// The value of `wait`.
pub(crate) enum Wait {
    For(Length),
    Forever,
    /// The call does not wait for a contended lock. No value of `wait` says so.
    Never,
}

const WAIT: Argument = Argument {
    name: "wait",
    noun: "a wait",
    values: "a duration: `wait = \"5s\"`, `forever` or an expression",
    zero: "a wait of zero can never acquire the lock\n\
           write `no_wait` for a call that returns at once where the lock is taken",
};

const QUOTED: &str = "`forever` is a name: write it without quotes, `wait = forever`";

impl Parse for Wait {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        match ungroup(&value) {
            Expr::Path(path) if path.path.is_ident("forever") => Ok(Self::Forever),
            _ if string(&value).is_some_and(|text| text.value() == "forever") => {
                Err(Error::new_spanned(&value, QUOTED))
            }
            _ => Length::read(&value, &WAIT).map(Self::For),
        }
    }
}

impl Wait {
    /// Generates an expression of type `__private::Wait`.
    pub(crate) fn expand(wait: Option<&Self>, private: &TokenStream) -> TokenStream {
        match wait {
            None => quote!(#private::Wait::Default),
            Some(Self::Forever) => quote!(#private::Wait::Forever),
            Some(Self::Never) => quote!(#private::Wait::Never),
            Some(Self::For(length)) => {
                let length = length.expand();
                quote!(#private::Wait::For(#length))
            }
        }
    }

    /// Generates an expression of type `Option<Duration>`, which is `None` for a wait without a limit.
    pub(crate) fn bound(wait: Option<&Self>) -> TokenStream {
        match wait {
            Some(Self::For(length)) => {
                let length = length.expand();
                quote!(::core::option::Option::Some(#length))
            }
            None | Some(Self::Forever | Self::Never) => quote!(::core::option::Option::None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let shown = match syn::parse_str::<Wait>(input) {
            Ok(wait) => Wait::expand(Some(&wait), &quote!(p)).to_string().replace(' ', ""),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{input}");
    }

    #[test]
    fn strings_are_durations() {
        check(r#""5s""#, "p::Wait::For(::core::time::Duration::new(5u64,0u32))");
        check(r#""1m 30s""#, "p::Wait::For(::core::time::Duration::new(90u64,0u32))");
        check(r#""1500ms""#, "p::Wait::For(::core::time::Duration::new(1u64,500000000u32))");
    }

    #[test]
    fn expressions_are_kept() {
        check("forever", "p::Wait::Forever");
        check("self.patience", "p::Wait::For({letlength:::core::time::Duration=self.patience;length})");
    }

    #[test]
    fn no_wait_is_the_clients_default() {
        assert_eq!(Wait::expand(None, &quote!(p)).to_string(), "p :: Wait :: Default");
    }

    #[test]
    fn a_bound_is_a_duration_or_none() {
        let bound =
            |wait| Wait::bound(wait).to_string().replace(' ', "").replace("::core::option::Option::", "");
        let five = syn::parse_str("\"5s\"").unwrap();
        assert_eq!(bound(Some(&five)), "Some(::core::time::Duration::new(5u64,0u32))");
        assert_eq!(bound(Some(&Wait::Forever)), "None");
        assert_eq!(bound(None), "None");
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        let zero = "a wait of zero can never acquire the lock\n\
                    write `no_wait` for a call that returns at once where the lock is taken";
        check(r#""0s""#, zero);
        check("0", zero);
        check(r#""forever""#, QUOTED);
        check("5", "a wait needs a unit: `wait = \"5s\"`");
        check("5s", "quote the duration: `wait = \"5s\"`");
        check("1.5", "quote the duration and give it a unit: `wait = \"1.5s\"`");
        check("-5", "a wait cannot be negative");
        check("true", "`wait` takes a duration: `wait = \"5s\"`, `forever` or an expression");
        check(
            r#""5 parsecs""#,
            "\"5 parsecs\" is not a duration: unknown time unit \"parsecs\", supported units: \
             ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)\n\
             write for example \"5s\", \"1500ms\" or \"1m 30s\"",
        );
    }
}
