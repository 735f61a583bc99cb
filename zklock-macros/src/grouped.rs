//! Looks inside the invisible groups that `macro_rules!` puts around the values that it passes on.
//!
//! Uses no other module.

use syn::{Expr, ExprLit, Ident, Lit, LitStr, Type};

/// Returns the expression without the invisible groups around it.
pub(crate) fn ungroup(mut expr: &Expr) -> &Expr {
    while let Expr::Group(group) = expr {
        expr = &group.expr;
    }
    expr
}

/// Returns the type without the invisible groups and the parentheses around it.
pub(crate) fn ungroup_type(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        }
    }
}

/// Returns `expr` as a string literal, if it is one.
pub(crate) fn string(expr: &Expr) -> Option<&LitStr> {
    match ungroup(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// Returns `expr` as an identifier, if it is one.
pub(crate) fn name_in(expr: &Expr) -> Option<&Ident> {
    match ungroup(expr) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{Delimiter, Group, TokenStream};
    use quote::ToTokens;

    /// Groups the tokens as `macro_rules!` does when it passes on a matched fragment.
    fn grouped(tokens: &str) -> TokenStream {
        Group::new(Delimiter::None, tokens.parse().unwrap()).into_token_stream()
    }

    #[test]
    fn a_string_is_found_in_its_group() {
        let text = |tokens| string(&syn::parse2(tokens).unwrap()).map(LitStr::value);
        assert_eq!(text(grouped("\"/a\"")).as_deref(), Some("/a"));
        assert_eq!(text("\"/a\"".parse().unwrap()).as_deref(), Some("/a"));
        assert_eq!(text(grouped("a.b")), None);
    }

    #[test]
    fn a_type_is_found_in_its_group() {
        for tokens in [grouped("u8"), grouped("(u8)"), "((u8))".parse().unwrap()] {
            let ty: Type = syn::parse2(tokens).unwrap();
            assert_eq!(ungroup_type(&ty).to_token_stream().to_string(), "u8");
        }
    }
}
