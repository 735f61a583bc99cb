//! The argument `mode = …`: selects a side of a read-write lock in place of the mutex.
//!
//! Uses only `grouped`, `names` and `path`.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result};

use crate::grouped::name_in;
use crate::names;
use crate::path::Path;

/// The value of `mode`.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Read,
    Write,
}

const NAMES: [&str; 2] = ["read", "write"];

impl Parse for Mode {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let name = name_in(&value).ok_or_else(|| Error::new_spanned(&value, NOT_A_NAME))?;
        match name.to_string().as_str() {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err(unknown(name)),
        }
    }
}

const NOT_A_NAME: &str = "`mode` takes one of two names: `mode = read` or `mode = write`";

fn unknown(name: &Ident) -> Error {
    let hint = names::hint(name, &NAMES);
    let message = format!(
        "unknown mode `{name}`{hint}\nthe modes are `read` and `write`; without one, the lock is a mutex"
    );
    Error::new(name.span(), message)
}

impl Mode {
    /// Generates the call that takes the lock at `path`, or all locks if there are several. The called
    /// function is in the module `calls`.
    pub(crate) fn expand(mode: Option<Self>, path: &Path, calls: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let (one, member) = match mode {
            None => ("lock", "mutex"),
            Some(Self::Read) => ("read", "read"),
            Some(Self::Write) => ("write", "write"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[track_caller]
    fn check_call(mode: &str, path: &str, expected: &str) {
        let mode = (!mode.is_empty()).then(|| syn::parse_str(mode).unwrap());
        let call = Mode::expand(mode, &syn::parse_str(path).unwrap(), &quote!(p));
        assert_eq!(call.to_string().replace(' ', ""), expected);
    }

    #[test]
    fn the_mode_and_the_number_of_paths_say_what_is_called() {
        let (one, both) = (r#""/a""#, r#"["/a", "/b"]"#);
        check_call("", one, "p::lock(__client,__path,__wait)");
        check_call("read", one, "p::read(__client,__path,__wait)");
        check_call("write", one, "p::write(__client,__path,__wait)");
        check_call("", both, "p::lock_all(__client,__path,p::Member::mutex,__wait)");
        check_call("read", both, "p::lock_all(__client,__path,p::Member::read,__wait)");
        check_call("write", both, "p::lock_all(__client,__path,p::Member::write,__wait)");
    }

    #[track_caller]
    fn check_refused(mode: &str, expected: &str) {
        let refused = syn::parse_str::<Mode>(mode).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some(expected), "{mode}");
    }

    #[test]
    fn other_modes_are_refused() {
        let modes = "the modes are `read` and `write`; without one, the lock is a mutex";
        check_refused("exclusive", &format!("unknown mode `exclusive`\n{modes}"));
        check_refused("shared", &format!("unknown mode `shared`, did you mean `read`?\n{modes}"));
        check_refused("reed", &format!("unknown mode `reed`, did you mean `read`?\n{modes}"));
        for other in ["\"read\"", "read | write", "[read]", "Mode::Read", "7", "pick(read)"] {
            check_refused(other, NOT_A_NAME);
        }
    }
}
