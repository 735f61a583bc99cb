//! The arguments `once_per = …` and `tick = …`: limit how often the body starts in the whole fleet, and name
//! the node that remembers the last start.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, Result, Signature};

use crate::duration::{Argument, Length};
use crate::path::Path;
use crate::syntax::{flat, mixed};

const ONCE_PER: Argument = Argument {
    name: "once_per",
    noun: "a period",
    values: "a duration: `once_per = \"15m\"` or an expression",
    zero: "a period cannot be zero",
};

/// Reads the value of `once_per`.
pub(crate) fn period(value: &Expr) -> Result<Length> {
    Length::read(value, &ONCE_PER)
}

/// The path of the node that remembers the last start, and the span of the value.
pub(crate) type Tick = (Path, Span);

/// Reads the value of `tick`.
pub(crate) fn tick(value: &Expr) -> Result<Tick> {
    let path = Path::read_one(value, "a tick has one path: `tick = \"/ticks/sweep\"`")?;
    Ok((path, value.span()))
}

/// The limit on the starts of the body.
pub(crate) struct Once {
    period: Length,
    tick: Option<Path>,
}

impl Once {
    /// Combines the two arguments; a tick needs a period.
    pub(crate) fn new(period: Option<Length>, tick: Option<Tick>) -> Result<Option<Self>> {
        match (period, tick) {
            (Some(period), tick) => Ok(Some(Self { period, tick: tick.map(|(path, _)| path) })),
            (None, Some((_, at))) => Err(Error::new(at, "`tick` needs a period: `once_per = \"15m\"`")),
            (None, None) => Ok(None),
        }
    }

    /// Generates an expression of type `__private::Once`. The default tick is named after the function and after the
    /// variable `__path`.
    pub(crate) fn expand(&self, sig: &Signature, private: &TokenStream) -> Result<TokenStream> {
        let period = self.period.expand();
        if let Some(tick) = &self.tick {
            let tick = tick.expand(sig, private)?;
            return Ok(quote!(#private::Once::at(#tick, #period)));
        }
        // `Self` cannot occur in the signature of a function outside of an `impl`.
        let names_self = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "Self");
        let of = match sig.receiver().is_some() || flat(sig.to_token_stream()).iter().any(names_self) {
            true => quote_spanned!(mixed()=> of_method::<Self>),
            false => quote_spanned!(mixed()=> of),
        };
        let name = sig.ident.unraw().to_string();
        Ok(quote_spanned! {mixed()=> {
            static __FUNCTION: #private::Function = #private::Function::new([
                ::core::module_path!(),
                #name,
                ::core::concat!(::core::file!(), ":", ::core::line!(), ":", ::core::column!()),
            ]);
            #private::Once::#of(&__FUNCTION, &__path, #period)
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(at: &str, on: &str) -> Result<Option<Once>> {
        let parsed = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let at = parsed(at).map(|text| period(&syn::parse_str(&text)?)).transpose()?;
        let on = parsed(on).map(|text| tick(&syn::parse_str(&text)?)).transpose()?;
        Once::new(at, on)
    }

    #[test]
    fn a_method_has_a_tick_beside_those_of_other_types() {
        for (sig, is_method) in [
            ("fn f(&self)", true),
            ("async fn f(this: Arc<Self>) -> R", true),
            ("async fn f() -> Result<Self, E>", true),
            ("async fn f<T>(t: T) -> R where Self: Sized", true),
            ("async fn f<T>(t: T) -> R", false),
        ] {
            let once = once("\"1s\"", "").unwrap().unwrap();
            let shown =
                once.expand(&syn::parse_str(sig).unwrap(), &quote!(p)).unwrap().to_string().replace(' ', "");
            assert_eq!(shown.contains("of_method::<Self>(&__FUNCTION,&__path,"), is_method, "{sig}");
        }
    }

    #[test]
    fn an_invalid_period_or_tick_is_refused() {
        for (period, tick, expected) in [
            ("15", "", "a period needs a unit: `once_per = \"15s\"`"),
            ("15m", "", "quote the duration: `once_per = \"15m\"`"),
            ("-1", "", "a period cannot be negative"),
            ("\"0s\"", "", "a period cannot be zero"),
            ("true", "", "`once_per` takes a duration: `once_per = \"15m\"` or an expression"),
            ("\"1m\"", "[\"/a\"]", "a tick has one path: `tick = \"/ticks/sweep\"`"),
            ("\"1m\"", "\"a\"", "the path \"a\" is relative: start it with a `/`"),
            ("", "\"/a\"", "`tick` needs a period: `once_per = \"15m\"`"),
        ] {
            let refused = once(period, tick).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some(expected));
        }
    }
}
