//! Return types outside of signatures.
//!
//! Uses no other module.

use syn::visit_mut::{self, VisitMut};
use syn::{ReturnType, Type, parse_quote};

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
