//! Reads which file of a crate names which other one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

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
    files: BTreeMap<Module, File>,
}

/// The paths and the other words of a file.
#[derive(Default)]
struct File {
    named: Vec<Named>,
    /// The words outside of imports and paths.
    words: BTreeSet<String>,
    /// The methods that the file calls.
    calls: BTreeSet<String>,
    /// The methods of the client that the file defines.
    methods: BTreeSet<String>,
    /// The file defines a client, and its methods are no additions to another room's.
    has_own_client: bool,
}

/// A path that a file names, from the crate's root, and its name in that file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    path: Module,
    alias: String,
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
            let mut reader = Reader { module: &module, modules: &modules, file: File::default() };
            reader.read(&tokens);
            (module.clone(), reader.file)
        };
        Self { files: sources.into_iter().map(read).collect() }
    }

    /// The arrows between files: to the file whose module a path names, and to the file that defines the item, where
    /// that module only re-exports it. A re-export of a file's own descendant is no arrow, unless the file uses the
    /// name itself.
    pub(super) fn arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (from, file) in &self.files {
            for named in &file.named {
                let (to, defined) = (self.file_of(&named.path), self.definer_of(&named.path, 0));
                if named.is_reexport && to.starts_with(from) && !file.words.contains(&named.alias) {
                    continue;
                }
                // The root re-exports for users of the crate, and is no file in between.
                let to = if to.is_empty() { defined.clone() } else { to };
                let targets = [to, defined].into_iter().filter(|to| to != from);
                arrows.extend(targets.map(|to| Arrow { from: from.clone(), to }));
            }
            arrows.extend(self.called_from(from, file));
        }
        arrows
    }

    /// The arrows to other rooms that define the methods of the client that a file calls.
    ///
    /// A method of any other type takes an import of that type.
    fn called_from<'a>(&'a self, from: &'a Module, file: &'a File) -> impl Iterator<Item = Arrow> + 'a {
        let definers =
            self.files.iter().filter(|(to, file)| to.first() != from.first() && !file.has_own_client);
        let called = definers.filter(|(_, other)| !other.methods.is_disjoint(&file.calls));
        called.map(|(to, _)| Arrow { from: from.clone(), to: to.clone() })
    }

    /// The file in which a path ends: that of its longest beginning that is a module.
    fn file_of(&self, path: &[String]) -> Module {
        let mut ends = (0..=path.len()).rev().map(|end| path[..end].to_vec());
        ends.find(|module| self.files.contains_key(module)).unwrap_or_default()
    }

    fn definer_of(&self, path: &[String], depth: usize) -> Module {
        let file = self.file_of(path);
        let (Some(name), Some(read)) = (path.get(file.len()), self.files.get(&file)) else { return file };
        match read.named.iter().find(|named| named.is_reexport && named.alias == *name) {
            Some(named) if depth < LONGEST_CHAIN && named.path != path => {
                self.definer_of(&named.path, depth + 1)
            }
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
    file: File,
}

impl Reader<'_> {
    fn read(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        let mut is_public = false;
        while let Some(token) = tokens.get(at) {
            if let [TokenTree::Ident(kind), TokenTree::Ident(name), ..] = &tokens[at..] {
                self.file.has_own_client |= (kind == "struct" || kind == "enum") && name == "Client";
            }
            if is_test_module(&tokens[at..]) {
                at += TEST_MODULE;
                continue;
            }
            let was_public = std::mem::take(&mut is_public);
            at += match token {
                // The name of a module is no use of it.
                TokenTree::Ident(word) if word == "mod" => 2,
                TokenTree::Ident(word) if word == "pub" => {
                    is_public = true;
                    visibility(&tokens[at..])
                }
                TokenTree::Ident(word) if word == "use" && !is_precise_capture(&tokens[at..]) => {
                    let end = tokens[at..].iter().position(|token| is_punct(token, ';'));
                    let end = end.map_or(tokens.len(), |end| at + end);
                    self.read_tree(&[], &tokens[at + 1..end], was_public);
                    end - at
                }
                TokenTree::Ident(word) if word == "impl" => {
                    self.read_impl(&tokens[at..]);
                    1
                }
                TokenTree::Ident(_) => self.read_path(tokens, at),
                TokenTree::Group(group) => {
                    self.read(&within(group));
                    1
                }
                _ => 1,
            };
        }
    }

    /// Reads a path or a word in code, and returns how many tokens it takes.
    fn read_path(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let (path, length) = path_at(&tokens[at..]);
        let is_method =
            at > 0 && is_punct(&tokens[at - 1], '.') && !(at > 1 && is_punct(&tokens[at - 2], '.'));
        let continues = at > 1 && is_punct(&tokens[at - 1], ':') && is_punct(&tokens[at - 2], ':');
        let is_call = matches!(tokens.get(at + length), Some(TokenTree::Group(group)) if is_call_of(group));
        match &path[..] {
            [name] if is_method && is_call => drop(self.file.calls.insert(name.clone())),
            _ if is_method || continues => {}
            [name] => drop(self.file.words.insert(name.clone())),
            [head, ..] => {
                self.file.words.insert(head.clone());
                self.note(&path, None, false);
            }
            [] => {}
        }
        length.max(1)
    }

    /// Reads what follows `use`, below the path in front of a brace.
    fn read_tree(&mut self, above: &[String], tokens: &[TokenTree], is_reexport: bool) {
        for branch in tokens.split(|token| is_punct(token, ',')) {
            let (names, length) = path_at(branch);
            let path = [above, &names].concat();
            match (branch.get(length), branch.get(length + 1)) {
                (Some(TokenTree::Group(group)), _) => self.read_tree(&path, &within(group), is_reexport),
                // A comma may end the list.
                _ if branch.is_empty() || path.is_empty() => {}
                (Some(TokenTree::Ident(_)), Some(TokenTree::Ident(alias))) => {
                    self.note(&path, Some(alias.to_string()), is_reexport);
                }
                _ => self.note(&path, None, is_reexport),
            }
        }
    }

    /// Reads the methods that the file adds to the client, which names none of the rooms above it.
    fn read_impl(&mut self, tokens: &[TokenTree]) {
        if let [_, TokenTree::Ident(name), TokenTree::Group(body), ..] = tokens
            && name == "Client"
        {
            let body = within(body);
            let names = body.windows(2).filter(|pair| word(&pair[0]).is_some_and(|word| word == "fn"));
            self.file.methods.extend(names.filter_map(|pair| word(&pair[1])));
        }
    }

    /// Resolves a path from its beginning, and keeps it if it leads into this crate.
    fn note(&mut self, path: &[String], alias: Option<String>, is_reexport: bool) {
        let is_child = self.modules.contains(&[&self.module[..], &path[..1]].concat());
        let imported =
            self.file.named.iter().find(|named| named.alias == path[0]).map(|named| named.path.clone());
        let (mut base, rest) = match (path[0].as_str(), imported) {
            ("crate", _) => (Vec::new(), &path[1..]),
            ("self", _) => (self.module.clone(), &path[1..]),
            ("super", _) => (self.module.clone(), path),
            _ if is_child => (self.module.clone(), path),
            (_, Some(imported)) => (imported, &path[1..]),
            _ => return,
        };
        let climbs = rest.iter().take_while(|name| *name == "super").count();
        base.truncate(base.len().saturating_sub(climbs));
        let names = rest[climbs..].iter().filter(|name| *name != "self" && *name != "*");
        // A root may rename a file, as `__private` is `private.rs`.
        base.extend(names.map(|name| name.trim_start_matches("__").to_owned()));
        let alias = alias.or_else(|| base.last().cloned()).unwrap_or_default();
        self.file.named.push(Named { path: base, alias, is_reexport });
    }
}

fn within(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn is_call_of(group: &Group) -> bool {
    group.delimiter() == Delimiter::Parenthesis
}

/// How many tokens `pub` takes; `pub(in crate::session)` names no item.
fn visibility(tokens: &[TokenTree]) -> usize {
    match tokens.get(1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => 2,
        _ => 1,
    }
}

/// Tells whether `use` begins the captures of an `impl Trait`, and no import.
fn is_precise_capture(tokens: &[TokenTree]) -> bool {
    tokens.get(1).is_some_and(|token| is_punct(token, '<'))
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
