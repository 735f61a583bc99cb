//! Reads the arguments of an attribute, a list of names and of `name = value`, to the end even after a mistake.

use proc_macro2::TokenTree;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::parse::discouraged::Speculative;
use syn::{Error, Expr, Ident, Result, Token};

use crate::names::unknown;
use crate::syntax::Errors;

/// The arguments that are given without a value.
const FLAGS: [&str; 2] = ["no_wait", "skip"];

/// The arguments that an attribute takes.
pub(crate) struct List<'a> {
    pub(crate) known: &'a [&'static str],
    /// An argument, for the message about something else in its place.
    pub(crate) example: &'static str,
}

/// An argument as it is given.
pub(crate) struct Given {
    pub(crate) name: Ident,
    /// `None` if it is a flag.
    pub(crate) value: Option<Expr>,
}

impl List<'_> {
    /// Reads arguments up to the end of the input, and hands each one to `set`. A mistake is collected, and reading
    /// continues with the next argument.
    ///
    /// Returns the names that are given, also those with mistakes. Something without a name is most likely a path.
    pub(crate) fn read(
        &self,
        input: ParseStream<'_>,
        errors: &mut Errors,
        mut set: impl FnMut(&Given) -> Result<()>,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        while !input.is_empty() {
            if let Err(error) = self.argument(input, &mut names).and_then(|given| set(&given)) {
                errors.push(error);
                skip_to_comma(input);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(names)
    }

    fn argument(&self, input: ParseStream<'_>, names: &mut Vec<String>) -> Result<Given> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            names.push("path".to_owned());
            Error::new(error.span(), format!("expected an argument, for example `{}`", self.example))
        })?;
        let text = name.to_string();
        let is_twice = names.contains(&text);
        names.push(text);
        if !self.known.iter().any(|known| name == known) {
            return Err(unknown(&name, self.known));
        }
        let value = value(&name, input)?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error(format!("expected `,` after the value of `{name}`")));
        }
        match is_twice {
            true => Err(Error::new(name.span(), format!("`{name}` is given twice"))),
            false => Ok(Given { name, value }),
        }
    }
}

fn value(name: &Ident, input: ParseStream<'_>) -> Result<Option<Expr>> {
    if FLAGS.iter().any(|flag| name == flag) {
        return match input.peek(Token![=]) {
            true => Err(input.error(format!("`{name}` takes no value"))),
            false => Ok(None),
        };
    }
    if !input.peek(Token![=]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = …`")));
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(Error::new(name.span(), format!("`{name}` needs a value after the `=`")));
    }
    // No expression begins with a `/`.
    if input.peek(Token![/]) {
        return Err(input.error("a path is a string: quote it, for example `path = \"/orders/{id}\"`"));
    }
    input.parse().map(Some)
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
