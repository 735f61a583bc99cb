//! Parts of the syntax that all attributes share: collected mistakes, invisible groups, return types and spans.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Error, Expr, ExprLit, GenericArgument, Ident, Lit, LitStr, Path, PathArguments, Result, ReturnType, Type,
    parse_quote, token,
};

/// The mistakes found so far in the use of an attribute, which are reported together.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Collects the error of a failed step, so that the next step can still be tried.
    pub(crate) fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    /// Returns the tokens that make the compiler report every mistake, in the order of their places in the source.
    pub(crate) fn to_compile_errors(&self) -> TokenStream {
        let mut errors: Vec<_> = self.0.iter().flatten().collect();
        errors.sort_by_key(|error| error.span().start());
        errors.iter().map(Error::to_compile_error).collect()
    }
}

/// Returns the expression without the invisible groups around it, which `macro_rules!` puts around the values that it
/// passes on.
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
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = ungroup(expr) else { return None };
    Some(text)
}

/// Returns `expr` as a number, if it is one that is known at expansion.
pub(crate) fn number(expr: &Expr) -> Option<u64> {
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = ungroup(expr) else { return None };
    number.base10_parse().ok()
}

/// Returns `expr` as an identifier, if it is one.
pub(crate) fn name_in(expr: &Expr) -> Option<&Ident> {
    let Expr::Path(path) = ungroup(expr) else { return None };
    path.path.get_ident()
}

/// Returns the tokens, with those in groups in place of the groups.
pub(crate) fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let of = |token| match token {
        TokenTree::Group(group) => flat(group.stream()),
        token => vec![token],
    };
    tokens.into_iter().flat_map(of).collect()
}

/// Returns the generic arguments at the end of a path.
pub(crate) fn generics(path: &Path) -> impl Iterator<Item = &GenericArgument> {
    let arguments = path.segments.last().and_then(|last| match &last.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    });
    arguments.into_iter().flatten()
}

/// Returns the return type in a form that an expression accepts.
pub(crate) fn erased_output(output: &ReturnType) -> Type {
    let mut ty = match output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => Type::clone(ty),
    };
    Eraser.visit_type_mut(&mut ty);
    ty
}

/// Puts `_` in place of the types that an expression cannot name. A macro may expand to such a type.
struct Eraser;

impl VisitMut for Eraser {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(_) | Type::Macro(_) => *ty = parse_quote!(_),
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }
}

/// Returns the span of generated names, which keeps them apart from the user's names.
pub(crate) fn mixed() -> Span {
    Span::mixed_site()
}

/// Returns the span of the return type.
pub(crate) fn output_span(output: &ReturnType) -> Span {
    match output {
        // A function without a return type offers no better place than the attribute.
        ReturnType::Default => Span::call_site(),
        ReturnType::Type(_, ty) => ty.span(),
    }
}

/// Tells whether a function returns `()`.
pub(crate) fn returns_nothing(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => matches!(ungroup_type(ty), Type::Tuple(unit) if unit.elems.is_empty()),
    }
}

/// Generates the path of the facade's module `__private`, located at `span`.
pub(crate) fn private(krate: Option<&Path>, span: Span) -> TokenStream {
    module(krate, "__private", span)
}

/// Generates the path of a module of the facade, located at `span`.
pub(crate) fn module(krate: Option<&Path>, name: &str, span: Span) -> TokenStream {
    let krate = match krate {
        Some(path) => path.to_token_stream().into_iter().map(|token| located(token, span)).collect(),
        None => quote_spanned!(span=> ::zklock),
    };
    let name = Ident::new(name, span);
    quote_spanned!(span=> #krate::#name)
}

fn located(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(token.span().located_at(span));
    token
}

/// Generates a block with these braces.
pub(crate) fn braced(brace: token::Brace, statements: TokenStream) -> TokenStream {
    let mut block = TokenStream::new();
    brace.surround(&mut block, |block| block.extend(statements));
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{Delimiter, Group};

    #[test]
    fn mistakes_are_reported_in_the_order_of_the_source() {
        let words: Vec<Ident> = "a\nb c".parse::<TokenStream>().unwrap().into_iter().map(word).collect();
        let mut errors = Errors::default();
        for nth in [2, 0, 1] {
            errors.push(Error::new_spanned(&words[nth], &words[nth]));
        }
        let shown = errors.to_compile_errors().to_string();
        let places: Vec<_> = ["\"a\"", "\"b\"", "\"c\""].map(|text| shown.find(text)).into();
        assert!(places.is_sorted() && places[0].is_some(), "{shown}");
    }

    fn word(token: TokenTree) -> Ident {
        match token {
            TokenTree::Ident(word) => word,
            other => panic!("{other} is no word"),
        }
    }

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
