//! How arguments are read: `name = value`, one after the other, also after mistakes.

use proc_macro2::TokenTree;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result, Token};

use crate::errors::Errors;

/// Reads one argument after the other, also after mistakes.
pub(crate) fn each(
    input: ParseStream<'_>,
    errors: &mut Errors,
    mut argument: impl FnMut(ParseStream<'_>) -> Result<()>,
) -> Result<()> {
    while !input.is_empty() {
        if let Err(error) = argument(input) {
            errors.push(error);
            skip_to_comma(input);
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// Checks that nothing follows the value of an argument but the next one.
pub(crate) fn ended(name: &Ident, input: ParseStream<'_>) -> Result<()> {
    match input.is_empty() || input.peek(Token![,]) {
        true => Ok(()),
        false => Err(input.error(format!("expected `,` after the value of `{name}`"))),
    }
}

/// Reads the value of an argument that may be given once.
pub(crate) fn set_once<T: Parse>(slot: &mut Option<T>, name: &Ident, input: ParseStream<'_>) -> Result<()> {
    if !input.peek(Token![=]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = …`")));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value after the `=`")));
    }
    let value = input.parse()?;
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(name.span(), format!("`{name}` is given twice"))),
    }
}

/// Goes to the end of an argument that could not be read, so that the ones behind it are still looked at.
fn skip_to_comma(input: ParseStream<'_>) {
    let ahead = input.fork();
    let value = ahead.parse::<Token![=]>().and_then(|_| ahead.parse::<Expr>());
    if value.is_ok() {
        input.advance_to(&ahead);
    }
    while !input.is_empty() && !input.peek(Token![,]) {
        // A token tree can be taken from any input that is not empty.
        let _ = input.parse::<TokenTree>();
    }
}
