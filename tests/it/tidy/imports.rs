//! Reads which file of a crate names which other one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The place of a file among the modules of its crate, such as `["session", "ops"]`; empty for the root.
pub(super) type Module = Vec<String>;

/// One file that names an item of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: Module,
    pub(super) to: Module,
}

/// The files of one crate, and the paths that each of them names.
pub(super) struct Crate {
    files: BTreeMap<Module, Vec<Named>>,
}

/// A path that a file names, from the crate's root.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    path: Module,
    is_reexport: bool,
}

impl Crate {
    /// Reads the sources of a crate; paths are relative to the file of its root module.
    pub(super) fn new(sources: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let sources: Vec<_> = sources.into_iter().collect();
        let is_library = sources.iter().any(|(path, _)| path == Path::new("lib.rs"));
        // The program beside a library is a crate of its own.
        let sources = sources.into_iter().filter(|(path, _)| !is_library || path != Path::new("main.rs"));
        let sources: BTreeMap<_, _> =
            sources.map(|(path, text)| (module(&path), tokens(&path, &text))).collect();
        let modules: BTreeSet<_> = sources.keys().cloned().collect();
        let read = |(module, tokens): (Module, Vec<TokenTree>)| {
            let mut reader = Reader { module: &module, modules: &modules, named: Vec::new() };
            reader.read(&tokens);
            (module.clone(), reader.named)
        };
        Self { files: sources.into_iter().map(read).collect() }
    }

    pub(super) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.files.keys()
    }

    /// The arrows between files: to the file whose module a path names, and to the file that defines the item, where
    /// that module only re-exports it. A re-export of a file's own descendants is a table of contents and no arrow.
    pub(super) fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (from, named) in &self.files {
            for named in named {
                let (to, defined) = (self.file_of(&named.path), self.definer_of(&named.path, 0));
                if named.is_reexport && to.starts_with(from) {
                    continue;
                }
                // The root re-exports for users of the crate, and is no file in between.
                let to = if to.is_empty() { defined.clone() } else { to };
                let targets = [to, defined].into_iter().filter(|to| to != from);
                arrows.extend(targets.map(|to| Arrow { from: from.clone(), to }));
            }
        }
        arrows
    }

    /// The file in which a path ends: that of its longest beginning that is a module.
    fn file_of(&self, path: &[String]) -> Module {
        let ends = (0..=path.len()).rev().map(|end| path[..end].to_vec());
        ends.into_iter().find(|module| self.files.contains_key(module)).unwrap_or_default()
    }

    fn definer_of(&self, path: &[String], depth: usize) -> Module {
        let file = self.file_of(path);
        let Some(name) = path.get(file.len()) else { return file };
        let reexport = self.files[&file].iter().find(|named| {
            named.is_reexport && named.path.last() == Some(name) && named.path.starts_with(&file)
        });
        match reexport {
            Some(named) if depth < LONGEST_CHAIN => self.definer_of(&named.path, depth + 1),
            _ => file,
        }
    }
}

/// The files that are part of a circle, or above one.
pub(super) fn circles(arrows: &BTreeSet<Arrow>) -> Vec<Arrow> {
    let mut left: Vec<_> = arrows.iter().cloned().collect();
    loop {
        let before = left.len();
        // An arrow into a file that names none of those left, and one out of a file that none of them names, is in no circle.
        let sources: BTreeSet<_> = left.iter().map(|arrow| arrow.from.clone()).collect();
        let targets: BTreeSet<_> = left.iter().map(|arrow| arrow.to.clone()).collect();
        left.retain(|arrow| sources.contains(&arrow.to) && targets.contains(&arrow.from));
        if left.len() == before {
            return left;
        }
    }
}

/// `queue/sim.rs` is `["queue", "sim"]`; a root is empty, and `private.rs` is the module `__private`.
fn module(path: &Path) -> Module {
    let names = path.with_extension("");
    let names: Module = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.len() == 1 && ["lib", "main"].contains(&names[0].as_str()) { Vec::new() } else { names }
}

fn tokens(path: &Path, text: &str) -> Vec<TokenTree> {
    let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    stream.into_iter().collect()
}

/// Collects the paths of one file.
struct Reader<'a> {
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    named: Vec<Named>,
}

impl Reader<'_> {
    fn read(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        let mut is_public = false;
        while at < tokens.len() {
            if is_test_module(&tokens[at..]) {
                at += TEST_MODULE;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(word) if word == "pub" => {
                    is_public = true;
                    // `pub(in crate::session)` names no item.
                    let is_restricted = matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                    at += if is_restricted { 2 } else { 1 };
                    continue;
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = tokens[at..]
                        .iter()
                        .position(|token| is_punct(token, ';'))
                        .map_or(tokens.len(), |end| at + end);
                    self.read_tree(&[], &tokens[at + 1..end], is_public);
                    at = end;
                }
                TokenTree::Ident(_) if !follows_path(tokens, at) => {
                    let (path, length) = path_at(&tokens[at..]);
                    if path.len() > 1 {
                        self.note(&path, false);
                    }
                    at += length.saturating_sub(1);
                }
                TokenTree::Group(group) => self.read(&group.stream().into_iter().collect::<Vec<_>>()),
                _ => {}
            }
            is_public = false;
            at += 1;
        }
    }

    /// Reads what follows `use`, below the path in front of a brace.
    fn read_tree(&mut self, above: &[String], tokens: &[TokenTree], is_reexport: bool) {
        for branch in tokens.split(|token| is_punct(token, ',')) {
            let (names, length) = path_at(branch);
            let path = [above, &names].concat();
            match branch.get(length) {
                Some(TokenTree::Group(group)) => {
                    self.read_tree(&path, &group.stream().into_iter().collect::<Vec<_>>(), is_reexport);
                }
                _ if path.is_empty() => {}
                _ => self.note(&path, is_reexport),
            }
        }
    }

    /// Resolves a path from its beginning, and keeps it if it leads into this crate.
    fn note(&mut self, path: &[String], is_reexport: bool) {
        let is_child = self.modules.contains(&[&self.module[..], &path[..1]].concat());
        let (mut base, rest) = match path[0].as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => (self.module.clone(), path),
            _ if is_child => (self.module.clone(), path),
            _ => return,
        };
        let climbs = rest.iter().take_while(|name| *name == "super").count();
        base.truncate(base.len().saturating_sub(climbs));
        let names = rest[climbs..].iter().filter(|name| *name != "self" && *name != "*");
        // A root may rename a file, as `__private` is `private.rs`.
        base.extend(names.map(|name| name.trim_start_matches("__").to_owned()));
        self.named.push(Named { path: base, is_reexport });
    }
}

/// The names of the path at the beginning, and how many tokens they take; in front of a brace the last `::` counts.
fn path_at(tokens: &[TokenTree]) -> (Module, usize) {
    let (mut names, mut at) = (Module::new(), 0);
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Punct(star)) if star.as_char() == '*' && at > 0 => names.push("*".to_owned()),
            _ => return (names, at),
        }
        at += 1;
        match tokens.get(at..at + 2) {
            Some([first, second]) if is_punct(first, ':') && is_punct(second, ':') => at += 2,
            _ => return (names, at),
        }
    }
}

/// Tells whether the token continues a path that began further in front, such as a method or a field.
fn follows_path(tokens: &[TokenTree], at: usize) -> bool {
    at > 0
        && (is_punct(&tokens[at - 1], ':') && at > 1 && is_punct(&tokens[at - 2], ':')
            || is_punct(&tokens[at - 1], '.'))
}

/// Tells whether these tokens begin with `#[cfg(test)] mod tests { … }`, or another module that only tests have.
fn is_test_module(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(attribute), TokenTree::Ident(word), ..] = tokens else { return false };
    is_punct(hash, '#') && word == "mod" && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// `#`, `[cfg(test)]`, `mod`, the name, and the braces or the semicolon.
const TEST_MODULE: usize = 5;
/// No item is re-exported through more files than this.
const LONGEST_CHAIN: usize = 8;

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
