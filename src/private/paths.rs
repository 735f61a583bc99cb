//! The paths of annotated functions: templates with values in them, expressions, and lists of them.

use std::fmt::{self, Display, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zklock_core::LockError;

/// The path of a lock, and the name of the lock in events and metrics.
#[derive(Clone, Debug)]
pub struct LockPath {
    pub(super) path: String,
    pub(super) label: &'static str,
}

/// A builder for the paths of an attribute, at least one.
///
/// Values in a template are percent-encoded, so a value can neither leave its segment nor name the node of another value.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    paths: Vec<LockPath>,
    /// The first reason why one of them is invalid.
    error: Option<LockError>,
}

impl Paths {
    /// Starts an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a path, which is named after its template.
    #[must_use]
    pub fn template(mut self, template: &'static str) -> Self {
        let path = String::with_capacity(template.len() + ROOM);
        self.paths.push(LockPath { path, label: template });
        self
    }

    /// Appends text of the template, which was validated when the template was parsed.
    #[must_use]
    pub fn literal(mut self, text: &str) -> Self {
        self.last().path.push_str(text);
        self
    }

    /// Appends an interpolated value.
    #[must_use]
    pub fn segment<T: Display + ?Sized>(mut self, value: &T) -> Self {
        let LockPath { path, label } = self.last();
        let (start, template) = (path.len(), *label);
        let failed = write!(Escaping(path), "{value}").is_err();
        let reason = match &path[start..] {
            _ if failed => "a value failed to format",
            "" => "a value is empty",
            // As a whole segment, these two would be relative. No other value is encoded like this, because a
            // `%` in a value becomes `%25`.
            relative @ ("." | "..") => {
                let encoded = "%2E".repeat(relative.len());
                path.replace_range(start.., &encoded);
                return self;
            }
            _ => return self,
        };
        self.refuse(template, reason.to_owned());
        self
    }

    /// Appends the path that is the value of an expression. It is validated when the lock is taken.
    ///
    /// Text in braces is refused: a caller that expects it to be replaced would share one lock with all others.
    #[must_use]
    pub fn text<P: Text + ?Sized>(mut self, path: &P) -> Self {
        let text = path.text();
        if let Some(braces) =
            text.find('{').and_then(|open| Some(&text[open..=open + text[open..].find('}')?]))
        {
            let reason =
                format!("`{braces}` is replaced only in a path that is a string literal in the attribute");
            self.refuse(text, reason);
        }
        self.paths.push(LockPath { path: text.to_owned(), label: "unnamed" });
        self
    }

    /// Appends each path of a list.
    #[must_use]
    pub fn each<P: Text>(self, paths: impl IntoIterator<Item = P>) -> Self {
        paths.into_iter().fold(self, |all, path| all.text(&path))
    }

    /// Gives all locks the name that the attribute has.
    #[must_use]
    pub fn named(mut self, label: &'static str) -> Self {
        self.paths.iter_mut().for_each(|path| path.label = label);
        self
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| &*path.path)
    }

    /// Returns the paths.
    pub(super) fn finish(self) -> Result<Vec<LockPath>, LockError> {
        self.error.map_or(Ok(self.paths), Err)
    }

    fn last(&mut self) -> &mut LockPath {
        self.paths.last_mut().expect("a template has been begun")
    }

    /// Makes the paths invalid. The first reason is kept.
    fn refuse(&mut self, path: &str, reason: String) {
        self.error.get_or_insert_with(|| LockError::InvalidPath { path: path.to_owned(), reason });
    }
}

/// A writer that percent-encodes text and appends it to a path.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(utf8_percent_encode(text, ESCAPED));
        Ok(())
    }
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

/// The room for values beside the text of a template.
const ROOM: usize = 16;

/// The characters to encode: all but the unreserved ones of RFC 3986.
pub(super) const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, segment: &str) {
        let paths = Paths::new().template("/a/{value}").literal("/a/").segment(value).finish().unwrap();
        assert_eq!(paths[0].path, format!("/a/{segment}"));
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
        let error = Paths::new().template("/a/{id}").literal("/a/").segment("").finish().unwrap_err();
        assert_eq!(error.to_string(), "invalid path \"/a/{id}\": a value is empty");
    }
}
