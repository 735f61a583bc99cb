//! Collects the mistakes in the use of an attribute, so that they are reported together.
//!
//! Uses no other module.

use proc_macro2::TokenStream;
use syn::{Error, Result};

/// The mistakes found so far.
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

    /// Returns the tokens that make the compiler report every mistake.
    pub(crate) fn to_compile_errors(&self) -> TokenStream {
        self.0.as_ref().map(Error::to_compile_error).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    #[test]
    fn every_mistake_is_reported() {
        let mut errors = Errors::default();
        assert_eq!(errors.keep(Ok(7)), Some(7));
        errors.push(Error::new(Span::call_site(), "one"));
        assert_eq!(errors.keep::<u8>(Err(Error::new(Span::call_site(), "two"))), None);

        let shown = errors.to_compile_errors().to_string();
        assert!(shown.contains("\"one\"") && shown.contains("\"two\""), "{shown}");
        assert_eq!(errors.finish().unwrap_err().into_iter().count(), 2);
    }

    #[test]
    fn no_mistake_is_no_error() {
        assert!(Errors::default().to_compile_errors().is_empty());
        assert!(Errors::default().finish().is_ok());
    }
}
