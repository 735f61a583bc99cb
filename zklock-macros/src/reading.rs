//! Reads the arguments of an attribute, a list of `name = value`, to the end even after a mistake.
//!
//! Uses only `errors`.

use proc_macro2::{Span, TokenTree};
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result, Token};

use crate::errors::Errors;

/// Reads arguments up to the end of the input. A mistake is collected, and reading continues with the next
/// argument.
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

/// Checks that only a comma or the end of the input follows the value of an argument.
pub(crate) fn ended(name: &Ident, input: ParseStream<'_>) -> Result<()> {
    match input.is_empty() || input.peek(Token![,]) {
        true => Ok(()),
        false => Err(input.error(format!("expected `,` after the value of `{name}`"))),
    }
}

/// Reads the value of an argument that may be given only once.
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

/// Reads the value of an argument that may be given only once, and keeps the place of its name.
pub(crate) fn set_once_at<T: Parse>(
    slot: &mut Option<(Span, T)>,
    name: &Ident,
    input: ParseStream<'_>,
) -> Result<()> {
    let (span, value) = slot.take().unzip();
    let mut value = value;
    let read = set_once(&mut value, name, input);
    *slot = value.map(|value| (span.unwrap_or_else(|| name.span()), value));
    read
}

/// Reads an argument without a value, which may be given only once, and keeps its place.
pub(crate) fn set_flag(slot: &mut Option<Span>, name: &Ident, input: ParseStream<'_>) -> Result<()> {
    if input.peek(Token![=]) {
        return Err(input.error(format!("`{name}` takes no value")));
    }
    match slot.replace(name.span()) {
        None => Ok(()),
        Some(_) => Err(Error::new(name.span(), format!("`{name}` is given twice"))),
    }
}

/// Skips the rest of an argument that could not be read, so that the arguments after it are still read.
fn skip_to_comma(input: ParseStream<'_>) {
    let ahead = input.fork();
    let value = ahead.parse::<Token![=]>().and_then(|_| ahead.parse::<Expr>());
    if value.is_ok() {
        input.advance_to(&ahead);
    }
    while !input.is_empty() && !input.peek(Token![,]) {
        // Parsing a token tree fails only on empty input.
        let _ = input.parse::<TokenTree>();
    }
}
