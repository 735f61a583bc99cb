//! Looks at the names in templates with the arguments of the function in view, because the compiler would offer to
//! replace the whole template.
//!
//! A name that is no argument may be that of a constant or static, which the attribute does not see. Only names in lower
//! case are therefore refused. A constant in lower case can be written `self::name`.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Error, Expr, ExprField, ExprMethodCall, GenericParam, LitStr, Member, Result, Signature};

use super::single::Single;
use super::template::Piece;
use crate::bound;
use crate::errors::Errors;
use crate::names::similar;

/// Refuses misspelled arguments, and hides the arguments from names that are none.
pub(super) fn in_function(path: &Single, sig: &Signature) -> Result<Single> {
    let mut path = path.clone();
    if bound::binds_out_of_view(sig) {
        return Ok(path);
    }
    let mut errors = Errors::default();
    if let Single::Template { text, pieces } = &mut path {
        for piece in pieces {
            if let Piece::Expr(expr) = piece {
                errors.keep(look_at(expr, text, sig));
            }
        }
    }
    errors.finish().map(|()| path)
}

fn look_at(expr: &mut Expr, text: &LitStr, sig: &Signature) -> Result<()> {
    let span = Span::mixed_site().located_at(text.span());
    // The compiler suggests another name where this one stands in the source, which is the whole template. It suggests
    // nothing in place of names of generated code.
    set_span_of_members(expr, span);
    let Some(name) = start(expr).filter(|name| !is_known(name, sig)) else { return Ok(()) };
    if let Some(mistake) = mistake(name, sig) {
        return Err(Error::new(text.span(), mistake));
    }
    // With this span, arguments and `self` are out of view, so the compiler suggests neither.
    name.set_span(span);
    Ok(())
}

fn set_span_of_members(expr: &mut Expr, span: Span) {
    match expr {
        Expr::Field(ExprField { member: Member::Named(name), .. })
        | Expr::MethodCall(ExprMethodCall { method: name, .. }) => name.set_span(span),
        _ => {}
    }
    if let Some(base) = base(expr) {
        set_span_of_members(base, span);
    }
}

/// Returns the name with which a field, a call of a method or an index starts.
fn start(expr: &mut Expr) -> Option<&mut Ident> {
    if let Expr::Path(path) = expr {
        path.path.get_ident()?;
        return path.path.segments.first_mut().map(|segment| &mut segment.ident);
    }
    start(base(expr)?)
}

/// Returns the value of which an expression takes a part, or on which it calls a method.
fn base(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::Field(field) => Some(&mut field.base),
        Expr::MethodCall(call) => Some(&mut call.receiver),
        Expr::Index(index) => Some(&mut index.expr),
        Expr::Paren(paren) => Some(&mut paren.expr),
        Expr::Reference(reference) => Some(&mut reference.expr),
        Expr::Unary(unary) => Some(&mut unary.expr),
        Expr::Try(try_) => Some(&mut try_.expr),
        Expr::Await(await_) => Some(&mut await_.base),
        Expr::Cast(cast) => Some(&mut cast.expr),
        _ => None,
    }
}

fn is_known(name: &Ident, sig: &Signature) -> bool {
    let is_const = |param: &GenericParam| matches!(param, GenericParam::Const(param) if param.ident == *name);
    bound::names(sig).contains(name) || sig.generics.params.iter().any(is_const)
}

/// Explains a name in lower case, or `self`, that is no argument.
fn mistake(name: &Ident, sig: &Signature) -> Option<String> {
    let function = &sig.ident;
    if name == "self" {
        return Some(format!("`{function}` has no `self`: name one of its arguments between the braces"));
    }
    let text = name.unraw().to_string();
    if text != text.to_lowercase() {
        return None;
    }
    let arguments: Vec<_> = bound::names(sig).iter().map(|argument| argument.unraw().to_string()).collect();
    let arguments: Vec<_> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "self").collect();
    let (meant, field) = match (similar(&text, &arguments), sig.receiver()) {
        (Some(meant), None) => (format!(", did you mean `{meant}`?"), String::new()),
        (Some(meant), Some(_)) => {
            (format!(", did you mean `{meant}`?"), format!(", a field `{{self.{name}}}`"))
        }
        (None, Some(_)) => (format!(", did you mean `{{self.{name}}}`?"), String::new()),
        (None, None) => (known(&arguments), String::new()),
    };
    Some(format!(
        "`{function}` has no argument `{name}`{meant}\n\
         a constant of this name is written `{{self::{name}}}`{field}"
    ))
}

fn known(arguments: &[&str]) -> String {
    match arguments {
        [] => String::new(),
        [only] => format!(": its only argument is `{only}`"),
        several => format!(": its arguments are `{}`", several.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(path: &str, sig: &str, expected: Option<&str>) {
        let path = Single::new(&syn::parse_str(&format!("{path:?}")).unwrap()).unwrap();
        let refused = in_function(&path, &syn::parse_str(sig).unwrap()).err().map(|error| error.to_string());
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
        check_names("/a/{ordr}", "fn f((Ok(order) | Err(order)): Result<u8, u8>)", Some(order));
        let field = format!("{order}, a field `{{self.ordr}}`");
        check_names("/a/{ordr}", "fn f(&self, order: &Order)", Some(&field));
        check_names("/a/{ordr.id}", "fn f(&self, order: &Order)", Some(&field));
        let no_self = "`f` has no `self`: name one of its arguments between the braces";
        check_names("/a/{self.id}", "fn f(id: u64)", Some(no_self));
    }

    #[test]
    fn the_field_or_the_arguments_are_named_if_no_argument_is_similar() {
        let constant = "a constant of this name is written `{self::shop}`";
        let two = format!("`f` has no argument `shop`: its arguments are `order`, `at`\n{constant}");
        check_names("/a/{shop}", "fn f(order: &Order, at: u8)", Some(&two));
        check_names("/a/{shop.id}", "fn f(order: &Order, at: u8)", Some(&two));
        let one = format!("`f` has no argument `shop`: its only argument is `order`\n{constant}");
        check_names("/a/{shop}", "fn f(order: &Order)", Some(&one));
        let none = format!("`f` has no argument `shop`\n{constant}");
        check_names("/a/{shop}", "fn f()", Some(&none));
        let field = format!("`f` has no argument `shop`, did you mean `{{self.shop}}`?\n{constant}");
        check_names("/a/{shop}", "fn f(&self, order: &Order)", Some(&field));
    }

    #[test]
    fn a_name_that_may_be_known_elsewhere_is_left_to_the_compiler() {
        for path in ["/a/{order}", "/a/{ORDR}", "/a/{ordr(1)}", "/a/{self::ordr}", "/a/{text!(ordr)}"] {
            check_names(path, "fn f(order: &Order)", None);
        }
        check_names("/a/{ordr}", "fn f(order: u8, (_, names!(ordr)): (u8, u8))", None);
        check_names("/a/{n}", "fn f<const n: usize>(m: u8)", None);
        check_names("/a/{self.id}", "fn f(self: Arc<Self>)", None);
        check_names("/a/{r#type}", "fn f(r#type: u8)", None);
    }
}
