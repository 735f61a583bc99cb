//! Looks at the names in templates with the arguments of the function in view, because the compiler would offer to
//! replace the whole template.
//!
//! A name that is no argument may be that of a constant or static, which the attribute does not see. Only names in lower
//! case are therefore refused. A constant in lower case can be written `self::name`.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Error, Expr, ExprField, ExprMethodCall, GenericParam, LitStr, Member, Signature};

use super::template::Piece;
use crate::names::similar;
use crate::patterns;
use crate::syntax::{Errors, mixed};

/// Refuses misspelled arguments, and hides the arguments from names that are none.
pub(super) fn look_at(text: &LitStr, pieces: &mut [Piece], sig: &Signature, errors: &mut Errors) {
    if patterns::binds_out_of_view(sig) {
        return;
    }
    let span = mixed().located_at(text.span());
    for piece in pieces {
        // The compiler suggests another name where this one stands in the source, which is the whole template. It
        // suggests nothing in place of names of generated code.
        let expr = match piece {
            Piece::Expr(expr) => expr,
            Piece::Literal(literal) => {
                if let Some(mistake) = placeholder(literal, sig) {
                    errors.push(Error::new(text.span(), mistake));
                }
                continue;
            }
        };
        let Some(name) = start(expr, span).filter(|name| !is_known(name, sig)) else { continue };
        match mistake(name, sig) {
            Some(mistake) => errors.push(Error::new(text.span(), mistake)),
            // With this span, arguments and `self` are out of view, so the compiler suggests neither.
            None => name.set_span(span),
        }
    }
}

/// Explains an argument that is written as the routes of other libraries have it. Every call would lock the same path.
fn placeholder(literal: &str, sig: &Signature) -> Option<String> {
    literal.split('/').find_map(|segment| {
        let name = segment.strip_prefix([':', '$']);
        let name = name.or_else(|| segment.strip_prefix('<')?.strip_suffix('>'))?;
        let argument = patterns::names(sig).into_iter().find(|argument| argument == name)?;
        Some(format!("`{segment}` is text in a path\nwrite `{{{argument}}}` for the argument"))
    })
}

/// Returns the name with which a field, a call of a method or an index starts, and sets the span of the members behind it.
fn start(expr: &mut Expr, span: Span) -> Option<&mut Ident> {
    match expr {
        Expr::Path(path) => {
            path.path.get_ident()?;
            path.path.segments.first_mut().map(|segment| &mut segment.ident)
        }
        Expr::Field(ExprField { base, member, .. }) => {
            if let Member::Named(name) = member {
                name.set_span(span);
            }
            start(base, span)
        }
        Expr::MethodCall(ExprMethodCall { receiver, method, .. }) => {
            method.set_span(span);
            start(receiver, span)
        }
        Expr::Index(index) => start(&mut index.expr, span),
        Expr::Paren(paren) => start(&mut paren.expr, span),
        Expr::Reference(reference) => start(&mut reference.expr, span),
        Expr::Unary(unary) => start(&mut unary.expr, span),
        _ => None,
    }
}

fn is_known(name: &Ident, sig: &Signature) -> bool {
    let is_const = |param: &GenericParam| matches!(param, GenericParam::Const(param) if param.ident == *name);
    patterns::names(sig).contains(name) || sig.generics.params.iter().any(is_const)
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
    let arguments: Vec<_> =
        patterns::names(sig).iter().map(|argument| argument.unraw().to_string()).collect();
    let arguments: Vec<_> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "self").collect();
    let (meant, is_method) = (similar(&text, &arguments), sig.receiver().is_some());
    let question = match (meant, is_method, &arguments[..]) {
        (Some(meant), _, _) => format!(", did you mean `{meant}`?"),
        (None, true, _) => format!(", did you mean `{{self.{name}}}`?"),
        (None, false, []) => String::new(),
        (None, false, [only]) => format!(": its only argument is `{only}`"),
        (None, false, several) => format!(": its arguments are `{}`", several.join("`, `")),
    };
    let field =
        if meant.is_some() && is_method { format!(", a field `{{self.{name}}}`") } else { String::new() };
    Some(format!(
        "`{function}` has no argument `{name}`{question}\n\
         a constant of this name is written `{{self::{name}}}`{field}"
    ))
}

#[cfg(test)]
mod tests {
    use crate::path::Path;
    use quote::quote;

    #[track_caller]
    fn check_names(path: &str, sig: &str, expected: Option<&str>) {
        let path = Path::read(&syn::parse_str(&format!("{path:?}")).unwrap()).unwrap();
        let refused = path.expand(&syn::parse_str(sig).unwrap(), &quote!(p));
        let refused = refused.err().map(|error| error.to_string());
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
    fn an_argument_in_the_syntax_of_routes_is_refused() {
        for segment in [":id", "<id>", "$id"] {
            let refusal = format!("`{segment}` is text in a path\nwrite `{{id}}` for the argument");
            check_names(&format!("/a/{segment}/b"), "fn f(id: u64)", Some(&refusal));
            check_names(&format!("/a/{segment}"), "fn f(ids: u64)", None);
        }
        check_names("/a/x:id", "fn f(id: u64)", None);
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
