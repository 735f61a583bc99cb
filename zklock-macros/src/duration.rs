//! Durations that are written as text: `"1m 30s"`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Reads the text as a duration.
pub(crate) fn parse(text: &LitStr) -> Result<Duration> {
    humantime::parse_duration(&text.value()).map_err(|error| {
        let message = format!(
            "{text:?} is not a duration: {error}\nwrite for example \"5s\", \"1500ms\" or \"1m 30s\"",
            text = text.value()
        );
        Error::new(text.span(), message)
    })
}

/// The expression of type `Duration`.
pub(crate) fn expand(duration: Duration) -> TokenStream {
    let (secs, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#secs, #nanos))
}
