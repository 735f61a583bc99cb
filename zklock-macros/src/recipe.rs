//! What a function takes before its body runs: a mutex, a side of a read-write lock, permits of a semaphore, or the
//! leader's term.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, Result};

use crate::path::Path;
use crate::syntax::{mixed, number};

/// What a function takes before its body runs.
#[derive(Default)]
pub(crate) enum Recipe {
    #[default]
    Mutex,
    Read,
    Write,
    Permits {
        /// The number of permits that the call takes, or `None` for one.
        wanted: Option<Box<Expr>>,
        of: Box<Expr>,
    },
    Term,
}

impl Recipe {
    /// Combines the numbers of permits.
    pub(crate) fn permits(wanted: Option<Expr>, of: Expr) -> Result<Self> {
        let known = wanted.as_ref().and_then(number).zip(number(&of));
        match known.filter(|(wanted, of)| wanted > of) {
            Some((number, size)) => {
                let message = format!("{number} permits of {size} can never be acquired");
                Err(Error::new_spanned(&wanted, message))
            }
            None => Ok(Self::Permits { wanted: wanted.map(Box::new), of: Box::new(of) }),
        }
    }

    /// Generates the expression that yields the numbers, which are evaluated before anything is awaited.
    pub(crate) fn numbers(&self, private: &TokenStream) -> Option<TokenStream> {
        let Self::Permits { wanted, of } = self else { return None };
        let wanted = match wanted {
            // With this span, a type mismatch is reported at the user's expression.
            Some(wanted) => {
                let number = quote_spanned!(wanted.span()=> ::core::primitive::u32);
                quote!({ let wanted: #number = #wanted; wanted })
            }
            None => quote!(1),
        };
        // The same holds for this call.
        let of = quote_spanned!(of.span()=> #private::number(#of));
        Some(quote_spanned!(mixed()=> (#wanted, #of)))
    }

    /// Generates the call that takes the lock at `path`, all of several locks, or the term.
    pub(crate) fn take(&self, path: &Path, private: &TokenStream) -> TokenStream {
        let name = match self {
            Self::Permits { .. } => {
                return quote_spanned!(mixed()=> #private::permits(__client, __path, __permits, __wait));
            }
            Self::Mutex => "mutex",
            Self::Read => "read",
            Self::Write => "write",
            Self::Term => "term",
        };
        let name = Ident::new(name, mixed());
        match path.is_group {
            false => quote_spanned!(mixed()=> #private::#name(__client, __path, __wait)),
            true => {
                quote_spanned!(mixed()=> #private::all(__client, __path, #private::Member::#name, __wait))
            }
        }
    }
}
