//! Texts that are on the heap only if they are long.

use std::fmt::{self, Write};
use std::ops::Deref;

use smallvec::{Array, SmallVec};

/// A text that is on the heap only if it does not fit into `A`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Text<A: Array<Item = u8>>(SmallVec<A>);

impl<A: Array<Item = u8>> Text<A> {
    pub(crate) fn concat(parts: &[&str]) -> Self {
        let mut text = Self(SmallVec::new());
        parts.iter().for_each(|part| text.push(part));
        text
    }

    pub(crate) fn format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self(SmallVec::new());
        text.write_fmt(arguments).expect("what is written to memory does not fail");
        text
    }

    fn push(&mut self, part: &str) {
        self.0.extend_from_slice(part.as_bytes());
    }
}

impl<A: Array<Item = u8>> Deref for Text<A> {
    type Target = str;

    fn deref(&self) -> &str {
        str::from_utf8(&self.0).expect("a text is made of texts")
    }
}

impl<A: Array<Item = u8>> Write for Text<A> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.push(part);
        Ok(())
    }
}

impl<A: Array<Item = u8>> From<&str> for Text<A> {
    fn from(text: &str) -> Self {
        Self::concat(&[text])
    }
}

impl<A: Array<Item = u8>> From<String> for Text<A> {
    fn from(text: String) -> Self {
        Self::from(&*text)
    }
}

impl<A: Array<Item = u8>> fmt::Debug for Text<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<A: Array<Item = u8>> fmt::Display for Text<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whether_it_fits_or_not() {
        for length in [0, 1, 7, 8, 9, 100] {
            let whole = "ä".repeat(length);
            let text = Text::<[u8; 16]>::concat(&["a", &whole, "b"]);
            assert_eq!(&*text, format!("a{whole}b"));
            assert_eq!(text, Text::format(format_args!("a{whole}b")));
        }
    }
}
