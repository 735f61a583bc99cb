//! Reads the arguments of an attribute, a list of names and of `name = value`, to the end even after a mistake.

use proc_macro2::{Span, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::parse::discouraged::Speculative;
use syn::{Error, Expr, Ident, Result, Token};

use crate::names::{means, unknown};
use crate::syntax::Errors;

/// The arguments that are given without a value.
const FLAGS: [&str; 2] = ["no_wait", "skip"];

/// The arguments of an attribute, as they are given, and the mistakes in them.
#[derive(Default)]
pub(crate) struct List {
    given: Vec<(Ident, Option<Expr>)>,
    /// The names that are given, also those with mistakes. Something without a name is most likely a path.
    names: Vec<String>,
    pub(crate) errors: Errors,
}

impl List {
    /// Reads arguments up to the end of the input. A mistake is collected, and reading continues with the next argument.
    /// `example` is for the message about something else in the place of one.
    pub(crate) fn read(input: ParseStream<'_>, known: &[&str], example: &str) -> Result<Self> {
        let mut list = Self::default();
        while !input.is_empty() {
            if let Err(error) = list.add(input, known, example) {
                list.errors.push(error);
                skip_to_comma(input);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(list)
    }

    fn add(&mut self, input: ParseStream<'_>, known: &[&str], example: &str) -> Result<()> {
        let name = input.call(Ident::parse_any).map_err(|error| {
            self.names.push("path".to_owned());
            Error::new(error.span(), format!("expected an argument, for example `{example}`"))
        })?;
        let text = name.to_string();
        let is_twice = self.names.contains(&text);
        self.names.push(text);
        if !known.iter().any(|known| name == known) {
            return Err(unknown(&name, known));
        }
        let value = value(&name, input)?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error(format!("expected `,` after the value of `{name}`")));
        }
        if is_twice {
            return Err(Error::new(name.span(), format!("`{name}` is given twice")));
        }
        self.given.push((name, value));
        Ok(())
    }

    /// Reads the value of an argument. Returns `None` if it is not given, or if there is a mistake in it, which is collected.
    pub(crate) fn value<T>(&mut self, name: &str, read: impl FnOnce(&Expr) -> Result<T>) -> Option<T> {
        let (_, value) = self.given.iter().find(|(given, _)| given == name)?;
        self.errors.keep(read(value.as_ref()?))
    }

    /// Returns the place of an argument, if it is given.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        self.given.iter().find(|(given, _)| given == name).map(|(given, _)| given.span())
    }

    /// Returns whether one of the names is, or was meant as, this one.
    pub(crate) fn names(&self, argument: &str) -> bool {
        self.names.iter().any(|name| means(name, argument))
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
