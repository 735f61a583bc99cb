//! Parses a template such as `"/orders/{order.id}"`. `{{` and `}}` stand for the braces themselves.

use proc_macro2::Span;
use syn::{Error, Expr, LitStr, Result};

/// A part of a template.
#[derive(Clone)]
pub(crate) enum Piece {
    /// Literal text, with its escapes resolved.
    Literal(String),
    /// The expression between braces.
    Expr(Box<Expr>),
}

pub(crate) fn parse(template: &LitStr) -> Result<Vec<Piece>> {
    let text = template.value();
    let mut pieces = Pieces::default();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push_text(&rest[..at]);
        let brace = &rest[at..];
        rest = if brace.starts_with("{{") || brace.starts_with("}}") {
            pieces.push_text(&brace[..1]);
            &brace[2..]
        } else if let Some(inside) = brace.strip_prefix('{') {
            let end = closing(inside).ok_or_else(|| unbalanced(template, '{'))?;
            pieces.0.push(Piece::Expr(Box::new(expression(&inside[..end], template.span())?)));
            &inside[end + 1..]
        } else {
            return Err(unbalanced(template, '}'));
        };
    }
    pieces.push_text(rest);
    Ok(pieces.0)
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.0.push(Piece::Literal(text.to_owned())),
        }
    }
}

fn unbalanced(template: &LitStr, brace: char) -> Error {
    let message = format!(
        "the path {:?} has an unbalanced `{brace}`\nwrite `{brace}{brace}` for the brace itself",
        template.value()
    );
    Error::new(template.span(), message)
}

/// Returns the position of the `}` that ends an expression; `None` if it is missing or the delimiters before
/// it are not balanced. The compiler's own error about unbalanced delimiters would be hard to understand. Delimiters in strings
/// and characters without escapes do not count.
fn closing(inside: &str) -> Option<usize> {
    let (mut open, mut at) = (Vec::new(), 0);
    while let Some(char) = inside[at..].chars().next() {
        match char {
            '}' if open.is_empty() => return Some(at),
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(char) => return None,
            _ => {}
        }
        at += match char {
            '"' => inside[at + 1..].find('"')? + 2,
            '\'' if inside[at..].chars().nth(2) == Some('\'') => inside[at + 1..].find('\'')? + 2,
            other => other.len_utf8(),
        };
    }
    None
}

fn expression(text: &str, span: Span) -> Result<Expr> {
    if text.trim().is_empty() {
        return Err(Error::new(
            span,
            "`{}` is empty: write an expression between the braces, for example `{order.id}`",
        ));
    }
    let expr = LitStr::new(text, span).parse_with(|input: syn::parse::ParseStream<'_>| input.parse::<Expr>());
    match expr {
        Ok(Expr::Lit(_)) => {
            let message = format!("`{{{text}}}` is a constant: write it without the braces");
            Err(Error::new(span, message))
        }
        Ok(expr) => Ok(expr),
        // A single colon.
        Err(_) if text.replace("::", "").contains(':') => {
            let message = format!(
                "`{{{text}}}`: format specs are not supported in a path\n\
                 the value is formatted with `Display` and percent-encoded"
            );
            Err(Error::new(span, message))
        }
        Err(error) => Err(Error::new(span, format!("`{{{text}}}` is not an expression: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let shown = match parse(&LitStr::new(template, Span::call_site())) {
            Ok(pieces) => pieces.iter().map(show).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{template}");
    }

    fn show(piece: &Piece) -> String {
        match piece {
            Piece::Literal(text) => format!("{text:?}"),
            Piece::Expr(expr) => format!("<{}>", expr.to_token_stream().to_string().replace(' ', "")),
        }
    }

    #[test]
    fn text_and_expressions_alternate() {
        check("", "");
        check("/a", r#""/a""#);
        check("/orders/{id}", r#""/orders/" <id>"#);
        check("{a}/{b}", r#"<a> "/" <b>"#);
        // Doubled braces are text.
        check("/{{a}}", r#""/{a}""#);
        check("/{{{a}}}", r#""/{" <a> "}""#);
    }

    #[test]
    fn any_expression_may_stand_between_braces() {
        check("/{order.id}", r#""/" <order.id>"#);
        check("/{self.key()}", r#""/" <self.key()>"#);
        check("/{parts[0]}", r#""/" <parts[0]>"#);
        check("/{u64::from(id)}", r#""/" <u64::from(id)>"#);
        check("/{ if a { 1 } else { 2 } }", r#""/" <ifa{1}else{2}>"#);
        check(r#"/{map["}"]}/x"#, r#""/" <map["}"]> "/x""#);
    }

    #[test]
    fn delimiters_in_characters_and_strings_are_text() {
        check("/{key.replace('{', \"\")}", "\"/\" <key.replace('{',\"\")>");
        check("/{key.trim_matches(')')}/{b'}'}x", "`{b'}'}` is a constant: write it without the braces");
        check("/{f('\"', 'é', \"é\")}", "\"/\" <f('\"','é',\"é\")>");
        check("/{r#type.id}", "\"/\" <r#type.id>");
        check("/{key::<'static>(id)}", "\"/\" <key::<'static>(id)>");
        check("/{bar(\"}\")}", "\"/\" <bar(\"}\")>");
    }

    #[test]
    fn unbalanced_braces_are_refused() {
        let open = "has an unbalanced `{`\nwrite `{{` for the brace itself";
        let close = "has an unbalanced `}`\nwrite `}}` for the brace itself";
        check("/{a", &format!("the path \"/{{a\" {open}"));
        check("/{a(}", &format!("the path \"/{{a(}}\" {open}"));
        check("/{\"}", &format!("the path \"/{{\\\"}}\" {open}"));
        check("/a}", &format!("the path \"/a}}\" {close}"));
    }

    #[test]
    fn braces_around_anything_but_an_expression_are_refused() {
        let nothing = "`{}` is empty: write an expression between the braces, for example `{order.id}`";
        let spec = "format specs are not supported in a path\n\
                    the value is formatted with `Display` and percent-encoded";
        check("/{}", nothing);
        check("/{ }", nothing);
        check("/{x:?}", &format!("`{{x:?}}`: {spec}"));
        check("/{x:>8}", &format!("`{{x:>8}}`: {spec}"));
        check("/{:?}", &format!("`{{:?}}`: {spec}"));
        check("/{0}", "`{0}` is a constant: write it without the braces");
        check("/{a b}", "`{a b}` is not an expression: unexpected token");
    }
}
