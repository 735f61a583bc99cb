//! Checks the names in templates against the arguments of the function, because the compiler would offer to replace the
//! whole template.
//!
//! A name that is no argument may be that of a constant or static, which the attribute does not see. Only a name in
//! lower case that resembles an argument is therefore refused.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Error, Expr, GenericParam, LitStr, Result, Signature};

use super::single::Single;
use super::template::Piece;
use crate::capture;
use crate::errors::Errors;
use crate::grouped::ungroup;
use crate::names::similar;

pub(super) fn check<'a>(paths: impl IntoIterator<Item = &'a Single>, sig: &Signature) -> Result<()> {
    let mut errors = Errors::default();
    for path in paths {
        let Single::Template { text, pieces } = path else { continue };
        for piece in pieces {
            if let Piece::Expr(expr) = piece {
                errors.keep(check_expression(expr, text, sig));
            }
        }
    }
    errors.finish()
}

fn check_expression(expr: &Expr, text: &LitStr, sig: &Signature) -> Result<()> {
    match start(expr).and_then(|name| mistake(name, sig)) {
        None => Ok(()),
        Some(mistake) => Err(Error::new(text.span(), mistake)),
    }
}

/// Returns the name with which a field, a call of a method or an index starts.
fn start(expr: &Expr) -> Option<&Ident> {
    match ungroup(expr) {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => start(&field.base),
        Expr::MethodCall(call) => start(&call.receiver),
        Expr::Index(index) => start(&index.expr),
        Expr::Paren(paren) => start(&paren.expr),
        Expr::Reference(reference) => start(&reference.expr),
        Expr::Unary(unary) => start(&unary.expr),
        Expr::Try(try_) => start(&try_.expr),
        Expr::Await(await_) => start(&await_.base),
        Expr::Cast(cast) => start(&cast.expr),
        _ => None,
    }
}

fn mistake(name: &Ident, sig: &Signature) -> Option<String> {
    let (arguments, function) = (capture::names(sig), &sig.ident);
    if arguments.contains(name) || is_const(name, sig) {
        return None;
    }
    if name == "self" {
        return Some(format!("`{function}` has no `self`: name one of its arguments between the braces"));
    }
    let text = name.unraw().to_string();
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.unraw().to_string()).collect();
    let arguments: Vec<_> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "self").collect();
    let meant = similar(&text, &arguments).filter(|_| text == text.to_lowercase())?;
    Some(format!(
        "`{function}` has no argument `{name}`, did you mean `{meant}`?\n\
         a constant of this name is written `{{self::{name}}}`"
    ))
}

fn is_const(name: &Ident, sig: &Signature) -> bool {
    sig.generics
        .params
        .iter()
        .any(|param| matches!(param, GenericParam::Const(param) if param.ident == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(path: &str, sig: &str, expected: Option<&str>) {
        let path = Single::new(&syn::parse_str(&format!("{path:?}")).unwrap()).unwrap();
        let refused = check(&[path], &syn::parse_str(sig).unwrap()).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), expected, "{sig}");
    }

    #[test]
    fn a_misspelled_argument_is_named() {
        let order = "`f` has no argument `ordr`, did you mean `order`?\n\
                     a constant of this name is written `{self::ordr}`";
        for path in
            ["/a/{ordr}", "/a/{ordr.id}", "/a/{ordr.key().to_string()}", "/a/{&ordr[0]}", "/a/{(ordr)}"]
        {
            check_names(path, "fn f(order: &Order)", Some(order));
        }
        check_names("/a/{ordr}", "fn f(Order { id: order, .. }: Order)", Some(order));
        let no_self = "`f` has no `self`: name one of its arguments between the braces";
        check_names("/a/{self.id}", "fn f(id: u64)", Some(no_self));
    }

    #[test]
    fn a_name_that_may_be_known_elsewhere_is_left_to_the_compiler() {
        for path in
            ["/a/{order}", "/a/{shop}", "/a/{ORDR}", "/a/{ordr(1)}", "/a/{self::ordr}", "/a/{text!(ordr)}"]
        {
            check_names(path, "fn f(order: &Order)", None);
        }
        check_names("/a/{n}", "fn f<const n: usize>(m: u8)", None);
        check_names("/a/{self.id}", "fn f(self: Arc<Self>)", None);
        check_names("/a/{r#type}", "fn f(r#type: u8)", None);
        check_names("/a/{sel}", "fn f(&self)", None);
    }
}
