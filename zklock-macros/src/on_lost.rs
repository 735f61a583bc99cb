//! The argument `on_lost = …`: decides whether the body is dropped when its lock or term is lost.
//!
//! Uses only `grouped` and `names`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, Result};

use crate::grouped::name_in;
use crate::names;

/// The value of `on_lost`.
#[derive(Clone, Copy)]
pub(crate) enum OnLost {
    /// The body is dropped at its next await. The span is that of the value.
    Cancel(Span),
    /// The body runs to its end.
    Finish,
}

const NAMES: [&str; 2] = ["cancel", "finish"];

impl Parse for OnLost {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value: Expr = input.parse()?;
        let name = name_in(&value).ok_or_else(|| Error::new_spanned(&value, NOT_A_NAME))?;
        match name.to_string().as_str() {
            "cancel" => Ok(Self::Cancel(value.span())),
            "finish" => Ok(Self::Finish),
            _ => Err(unknown(name)),
        }
    }
}

const NOT_A_NAME: &str = "`on_lost` takes one of two names: `on_lost = cancel` or `on_lost = finish`";

fn unknown(name: &Ident) -> Error {
    let hint = names::hint(name, &NAMES);
    let message = format!(
        "unknown value `{name}`{hint}\n`cancel` drops the body at its next await, `finish` lets it run to its end"
    );
    Error::new(name.span(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cancelled_or_finishes() {
        assert!(matches!(syn::parse_str("cancel"), Ok(OnLost::Cancel(_))));
        assert!(matches!(syn::parse_str("finish"), Ok(OnLost::Finish)));
    }

    #[track_caller]
    fn check_refused(value: &str, expected: &str) {
        let refused = syn::parse_str::<OnLost>(value).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some(expected), "{value}");
    }

    #[test]
    fn other_values_are_refused() {
        let values = "`cancel` drops the body at its next await, `finish` lets it run to its end";
        check_refused("abort", &format!("unknown value `abort`\n{values}"));
        check_refused("cancle", &format!("unknown value `cancle`, did you mean `cancel`?\n{values}"));
        check_refused("drop", &format!("unknown value `drop`, did you mean `cancel`?\n{values}"));
        for other in ["\"cancel\"", "OnLost::Finish", "7", "true", "finish()"] {
            check_refused(other, NOT_A_NAME);
        }
    }
}
