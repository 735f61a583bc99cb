//! Reads the functions that `#[async_trait]` generates from an `async fn`: they return
//! `Box::pin(async move { … })`.

use proc_macro2::{TokenStream, TokenTree};
use quote::{TokenStreamExt, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    Error, GenericArgument, Path, Result, ReturnType, Signature, Token, Type, TypeParamBound, braced,
    parenthesized, token,
};

use crate::patterns::is_word_in;
use crate::syntax::{generics, ungroup_type};

/// The body of such a function.
pub(crate) struct Boxed {
    /// The path `Box::pin`.
    pub(crate) by: Path,
    pub(crate) brace: token::Brace,
    pub(crate) body: TokenStream,
}

impl Parse for Boxed {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let start = input.span();
        Self::read(input).ok().filter(|_| input.is_empty()).ok_or_else(|| Error::new(start, OTHER_BODY))
    }
}

const OTHER_BODY: &str = "this function makes a future, and its body is not just `Box::pin(async move { … })`\n\
                          make it an `async fn`, or move everything into that block";

impl Boxed {
    fn read(input: ParseStream<'_>) -> Result<Self> {
        let by = input.call(Path::parse_mod_style)?;
        let (boxed, block);
        parenthesized!(boxed in input);
        boxed.parse::<Token![async]>()?;
        boxed.parse::<Token![move]>()?;
        let brace = braced!(block in boxed);
        Ok(Self { by, brace, body: block.parse()? })
    }
}

/// Permits the body not to use the parameters that the attribute's arguments name.
///
/// `#[async_trait]` begins the body with a `let parameter = parameter;` for each, which is unused if only the attribute
/// uses the parameter.
pub(crate) fn permit_unused(body: TokenStream, args: &str) -> TokenStream {
    let tokens: Vec<_> = body.into_iter().collect();
    let texts: Vec<_> = tokens.iter().map(ToString::to_string).collect();
    let mut permitted = TokenStream::new();
    for (at, token) in tokens.iter().enumerate() {
        permitted.append(token.clone());
        if let Some([word, name, equals, value, end]) = texts[..=at].last_chunk()
            && (word == "let" || word == "mut")
            && (equals == "=" && end == ";" && name == value)
            && let TokenTree::Ident(name) = &tokens[at - 3]
            && is_word_in(args, name)
        {
            // An attribute would be refused under `forbid(unused_variables)`.
            permitted.extend(quote!(let _ = &#name;));
        }
    }
    permitted
}

/// Returns the output of the future that such a function returns: the `T` of
/// `Pin<Box<dyn Future<Output = T> + …>>`.
pub(crate) fn output(sig: &Signature) -> Option<ReturnType> {
    let ReturnType::Type(arrow, ty) = &sig.output else { return None };
    let Type::TraitObject(object) = argument(argument(ty, "Pin")?, "Box")? else { return None };
    let output = object.bounds.iter().find_map(|bound| match bound {
        TypeParamBound::Trait(bound) => arguments(&bound.path, "Future").find_map(assigned),
        _ => None,
    })?;
    sig.asyncness.is_none().then(|| ReturnType::Type(*arrow, Box::new(output.clone())))
}

/// Returns the `T` of `Name<T>`.
fn argument<'a>(ty: &'a Type, name: &'a str) -> Option<&'a Type> {
    let Type::Path(ty) = ungroup_type(ty) else { return None };
    arguments(&ty.path, name).find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ungroup_type(ty)),
        _ => None,
    })
}

fn arguments<'a>(path: &'a Path, name: &str) -> impl Iterator<Item = &'a GenericArgument> {
    let is_named = path.segments.last().is_some_and(|last| last.ident == name);
    generics(path).filter(move |_| is_named)
}

/// Returns the `T` of `Output = T`.
fn assigned(argument: &GenericArgument) -> Option<&Type> {
    let GenericArgument::AssocType(assigned) = argument else { return None };
    (assigned.ident == "Output").then_some(&assigned.ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    #[test]
    fn boxed_futures_are_recognised_and_other_types_are_not() {
        for (sig, expected) in [
            (
                "fn f<'a>(&'a self) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = R<T>> + Send + 'a>>",
                Some("->R<T>"),
            ),
            ("fn f() -> Pin<Box<dyn Send + Future<Output = ()>>>", Some("->()")),
            ("fn f()", None),
            ("fn f() -> Box<dyn Future<Output = ()>>", None),
            ("fn f() -> Pin<Box<dyn Stream<Item = ()>>>", None),
            ("fn f() -> Pin<Box<T>>", None),
            ("async fn f() -> Pin<Box<dyn Future<Output = ()>>>", None),
        ] {
            let output = output(&syn::parse_str(sig).unwrap());
            let shown = output.map(|output| output.to_token_stream().to_string().replace(' ', ""));
            assert_eq!(shown.as_deref(), expected, "{sig}");
        }
    }

    #[test]
    fn parameters_that_only_the_attribute_names_may_be_unused() {
        #[track_caller]
        fn check(body: &str, args: &str, expected: &str) {
            let shown = permit_unused(body.parse().unwrap(), args).to_string().replace(' ', "");
            assert_eq!(shown, expected, "{body} {args}");
        }
        let permitted = "letid=id;let_=&id;f()";
        check("let id = id; f()", r#"path = "/orders/{id}""#, permitted);
        check("let id = id; f()", "path = path(id)", permitted);
        check("let r#type = r#type;", "path = path(r#type)", "letr#type=r#type;let_=&r#type;");
        check("let mut id = id;", "path = id", "letmutid=id;let_=&id;");
        check("let id = id; f()", r#"path = "/orders/{other_id}""#, "letid=id;f()");
        check("let id = 7; let x = id;", "path = id", "letid=7;letx=id;");
    }

    #[test]
    fn the_block_is_taken_out_of_its_box() {
        let boxed: Boxed = syn::parse_str("Box::pin(async move { f(self).await })").unwrap();
        assert_eq!(boxed.body.to_string(), "f (self) . await");
        for other in ["let x = 7; Box::pin(async move {})", "self.boxed()", "Box::pin(async {})", ""] {
            let refused = syn::parse_str::<Boxed>(other).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some(OTHER_BODY), "{other}");
        }
    }
}
