//! The kind of lock that a function takes: a mutex, a side of a read-write lock, or permits of a semaphore.
//!
//! Uses only `grouped`, `mode` and `path`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Lit, Result};

use crate::grouped::ungroup;
use crate::mode::Mode;
use crate::path::Path;

/// The kind of lock that a function takes.
pub(crate) enum Recipe {
    Mutex,
    Side(Mode),
    Permits {
        /// The number of permits that the call takes, or `None` for one.
        wanted: Option<Number>,
        of: Number,
    },
}

/// The value of `permits` or `of`.
pub(crate) struct Number(Box<Expr>);

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Box<Expr> = input.parse()?;
        match ungroup(&value) {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.base10_digits() == "0" => {
                Err(Error::new_spanned(&value, "the number of permits is at least one"))
            }
            Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) => Ok(Self(value)),
            Expr::Lit(_) => Err(Error::new_spanned(&value, "permits are counted: `permits = 1, of = 5`")),
            _ => Ok(Self(value)),
        }
    }
}

impl Number {
    /// Returns the number if it is known at expansion.
    fn known(&self) -> Option<u64> {
        match ungroup(&self.0) {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
            _ => None,
        }
    }
}

impl Recipe {
    /// Combines the arguments that select the kind of lock at `path`.
    pub(crate) fn new(
        mode: Option<Mode>,
        (wanted, of): (Option<Number>, Option<Number>),
        path: Option<&Path>,
    ) -> Result<Self> {
        let (wanted, of) = match (wanted, of) {
            (None, None) => return Ok(mode.map_or(Self::Mutex, Self::Side)),
            (Some(wanted), None) => return Err(Error::new_spanned(wanted.0, NO_SIZE)),
            (wanted, Some(of)) => (wanted, of),
        };
        if mode.is_some() {
            return Err(Error::new_spanned(of.0, "a semaphore has no mode: remove `mode`"));
        }
        if let Some(Path::Several(_)) = path {
            return Err(Error::new_spanned(of.0, "permits are of one semaphore: give one path"));
        }
        let known = wanted.as_ref().map(|wanted| (wanted, wanted.known()));
        if let (Some((wanted, Some(number))), Some(size)) = (known, of.known())
            && number > size
        {
            let message = format!("{number} permits of {size} can never be acquired");
            return Err(Error::new_spanned(&wanted.0, message));
        }
        Ok(Self::Permits { wanted, of })
    }

    /// Generates the expression that yields the numbers, which are evaluated before anything is awaited.
    pub(crate) fn numbers(&self, private: &TokenStream) -> Option<TokenStream> {
        let Self::Permits { wanted, of } = self else { return None };
        let wanted = match wanted {
            // With this span, a type mismatch is reported at the user's expression.
            Some(Number(wanted)) => {
                let number = quote_spanned!(wanted.span()=> ::core::primitive::u32);
                quote!({ let wanted: #number = #wanted; wanted })
            }
            None => quote!(1),
        };
        let Number(of) = of;
        // The same holds for this call.
        let of = quote_spanned!(of.span()=> #private::number(#of));
        Some(quote_spanned!(Span::mixed_site()=> (#wanted, #of)))
    }

    /// Generates the call that takes the lock at `path`, or all locks if there are several. The called
    /// function is in the module `calls`.
    pub(crate) fn expand(&self, path: &Path, calls: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let (one, member) = match self {
            Self::Permits { .. } => {
                return quote_spanned!(span=> #calls::permits(__client, __path, __permits, __wait));
            }
            Self::Mutex => ("lock", "mutex"),
            Self::Side(Mode::Read) => ("read", "read"),
            Self::Side(Mode::Write) => ("write", "write"),
        };
        let (one, member) = (Ident::new(one, span), Ident::new(member, span));
        match path {
            Path::One(_) => quote_spanned!(span=> #calls::#one(__client, __path, __wait)),
            Path::Several(_) => {
                quote_spanned!(span=> #calls::lock_all(__client, __path, #calls::Member::#member, __wait))
            }
        }
    }
}

impl ToTokens for Number {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

const NO_SIZE: &str = "`permits` needs the number that there are: `permits = 1, of = 5`";

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<Number> {
        (!text.is_empty()).then(|| syn::parse_str(text).unwrap())
    }

    fn recipe(mode: &str, permits: [&str; 2], path: &str) -> std::result::Result<(Recipe, Path), String> {
        let mode = (!mode.is_empty()).then(|| syn::parse_str(mode).unwrap());
        let path: Path = syn::parse_str(path).unwrap();
        let [wanted, of] = permits.map(number);
        let recipe = Recipe::new(mode, (wanted, of), Some(&path)).map_err(|error| error.to_string())?;
        Ok((recipe, path))
    }

    const ONE: &str = r#""/a""#;
    const BOTH: &str = r#"["/a", "/b"]"#;

    #[track_caller]
    fn check_call(mode: &str, path: &str, expected: &str) {
        let (recipe, path) = recipe(mode, ["", ""], path).unwrap();
        let call = recipe.expand(&path, &quote!(p));
        assert_eq!(call.to_string().replace(' ', ""), expected);
    }

    #[test]
    fn the_mode_and_the_number_of_paths_say_what_is_called() {
        check_call("", ONE, "p::lock(__client,__path,__wait)");
        check_call("read", ONE, "p::read(__client,__path,__wait)");
        check_call("write", ONE, "p::write(__client,__path,__wait)");
        check_call("", BOTH, "p::lock_all(__client,__path,p::Member::mutex,__wait)");
        check_call("read", BOTH, "p::lock_all(__client,__path,p::Member::read,__wait)");
        check_call("write", BOTH, "p::lock_all(__client,__path,p::Member::write,__wait)");
    }

    #[test]
    fn permits_are_evaluated_first_and_then_taken() {
        let shown = |permits| {
            let (recipe, path) = recipe("", permits, ONE).unwrap();
            let numbers = recipe.numbers(&quote!(p)).unwrap();
            (numbers.to_string() + &recipe.expand(&path, &quote!(p)).to_string()).replace(' ', "")
        };
        let into = "p::number";
        let taken = "p::permits(__client,__path,__permits,__wait)";
        assert_eq!(shown(["", "5"]), format!("(1,{into}(5)){taken}"));
        let wanted = "{letwanted:::core::primitive::u32=n+1;wanted}";
        assert_eq!(shown(["n + 1", "MOST"]), format!("({wanted},{into}(MOST)){taken}"));
    }

    #[track_caller]
    fn check_refused(mode: &str, permits: [&str; 2], path: &str, expected: &str) {
        assert_eq!(recipe(mode, permits, path).err().as_deref(), Some(expected));
    }

    #[test]
    fn what_no_semaphore_can_give_is_refused() {
        check_refused("", ["2", ""], ONE, NO_SIZE);
        check_refused("", ["6", "5"], ONE, "6 permits of 5 can never be acquired");
        check_refused("read", ["", "5"], ONE, "a semaphore has no mode: remove `mode`");
        check_refused("", ["", "5"], BOTH, "permits are of one semaphore: give one path");
        for (number, expected) in [
            ("0", "the number of permits is at least one"),
            ("\"5\"", "permits are counted: `permits = 1, of = 5`"),
        ] {
            let refused = syn::parse_str::<Number>(number).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some(expected));
        }
    }
}
