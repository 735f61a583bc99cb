//! The paths of annotated functions: templates with values in them, expressions, and lists of them.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zklock_core::LockError;

use super::Path;
use super::named::LockPath;
use super::site::Site;

/// A builder for a path from a template with interpolated segments.
///
/// Values are percent-encoded, so a value can neither leave its segment nor name the node of another value.
#[derive(Debug)]
pub struct PathTemplate {
    template: &'static str,
    path: Cow<'static, str>,
    /// The reason why the path is invalid.
    reason: Option<&'static str>,
}

impl PathTemplate {
    /// Starts a path. Errors show the template.
    #[inline]
    pub fn new(template: &'static str) -> Self {
        Self { template, path: Cow::Borrowed(""), reason: None }
    }

    /// Appends text that was validated when the template was parsed.
    #[inline]
    #[must_use]
    pub fn literal(mut self, text: &'static str) -> Self {
        // Adding to an empty `Cow` borrows the text, so a path of one literal is not copied.
        self.path += text;
        self
    }

    /// Appends an interpolated value.
    #[must_use]
    pub fn segment<T: Display + ?Sized>(mut self, value: &T) -> Self {
        let path = self.text();
        let start = path.len();
        let failed = write!(Escaping(path), "{value}").is_err();
        match &path[start..] {
            _ if failed => self.refuse("a value failed to format"),
            "" => self.refuse("a value is empty"),
            // As a whole segment, these two would be relative. No other value is encoded like this, because a
            // `%` in a value becomes `%25`.
            "." => path.replace_range(start.., "%2E"),
            ".." => path.replace_range(start.., "%2E%2E"),
            _ => {}
        }
        self
    }

    /// Returns the path so far, with room for values, so that most paths take one allocation. This matters
    /// for calls that send no request, such as reentrant ones.
    fn text(&mut self) -> &mut String {
        if let Cow::Borrowed(literal) = self.path {
            let mut text = String::with_capacity(self.template.len() + ROOM);
            text.push_str(literal);
            self.path = Cow::Owned(text);
        }
        self.path.to_mut()
    }

    /// Returns the finished path.
    #[inline]
    pub fn finish(self) -> Path {
        match self.reason {
            Some(reason) => Err(LockError::InvalidPath { path: self.template.into(), reason: reason.into() }),
            None => Ok(LockPath::new(self.path, self.template)),
        }
    }

    /// Makes the path invalid. The first reason is kept.
    fn refuse(&mut self, reason: &'static str) {
        self.reason.get_or_insert(reason);
    }
}

/// The capacity for values, in addition to the length of the template.
const ROOM: usize = 32;

/// A writer that percent-encodes text and appends it to a path.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(utf8_percent_encode(text, ESCAPED));
        Ok(())
    }
}

/// Returns the constant path of a call site.
#[inline]
pub fn constant(site: &'static Site) -> Path {
    Ok(LockPath::at(site))
}

/// A value that is a whole path.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the path of a lock",
    label = "a path is a string: `&str`, `String` or any other `AsRef<str>`",
    note = "a value between braces becomes a segment of the path: `path = \"/orders/{{id}}\"`",
    note = "several paths go into an array: `path = [from, to]`",
    note = "a list is spread: `path = [..&orders]`"
)]
pub trait Text {
    /// Returns the path.
    fn text(&self) -> &str;
}

#[diagnostic::do_not_recommend]
impl<P: AsRef<str> + ?Sized> Text for P {
    fn text(&self) -> &str {
        self.as_ref()
    }
}

/// Returns the path that is the value of an expression. It is validated when the lock is taken.
///
/// Text in braces is refused: a caller that expects it to be replaced would share one lock with all others.
pub fn path_of<P: Text + ?Sized>(path: &P) -> Path {
    let text = path.text();
    match text.find('{').and_then(|open| Some(&text[open..=open + text[open..].find('}')?])) {
        None => Ok(text.to_owned().into()),
        Some(braces) => Err(LockError::InvalidPath {
            path: text.to_owned(),
            reason: format!(
                "`{braces}` is replaced only in a path that is a string literal in the attribute"
            ),
        }),
    }
}

/// A builder for the paths of a group.
#[derive(Debug, Default)]
pub struct Paths(Vec<Path>);

impl Paths {
    /// Starts an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one path.
    #[must_use]
    pub fn one(mut self, path: Path) -> Self {
        self.0.push(path);
        self
    }

    /// Appends each path of a list.
    #[must_use]
    pub fn each<P: Text>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.0.extend(paths.into_iter().map(|path| path_of(&path)));
        self
    }

    /// Returns the paths.
    pub fn finish(self) -> Vec<Path> {
        self.0
    }
}

/// The characters to encode: all but the unreserved ones of RFC 3986.
pub(super) const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, segment: &str) {
        let path = PathTemplate::new("/a/{value}").literal("/a/").segment(value).finish();
        assert_eq!(*path.unwrap(), *format!("/a/{segment}"));
    }

    #[test]
    fn values_stay_in_their_segment() {
        check("7", "7");
        check("a/b", "a%2Fb");
        check("..", "%2E%2E");
        check(".", "%2E");
        check("...", "...");
        check("%2E", "%252E");
        check("a b\0\n", "a%20b%00%0A");
        check("ü😀", "%C3%BC%F0%9F%98%80");
        check("file-1_x~.txt", "file-1_x~.txt");
    }

    #[test]
    fn an_empty_value_names_the_template() {
        let error = PathTemplate::new("/a/{id}").literal("/a/").segment("").finish().unwrap_err();
        assert_eq!(error.to_string(), "invalid path \"/a/{id}\": a value is empty");
    }
}
