//! The argument `mode = …`: selects a side of a read-write lock in place of the mutex.
//!
//! Uses only `grouped` and `names`.

use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result};

use crate::grouped::name_in;
use crate::names;

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

#[cfg(test)]
mod tests {
    use super::*;

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
