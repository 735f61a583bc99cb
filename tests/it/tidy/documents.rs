//! Checks the README and the guide: that nothing is left out, and that their examples are compiled.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{chapters, document, root};

fn for_users() -> Vec<(String, String)> {
    let paths = chapters().into_iter().chain(["README.md".to_owned()]);
    paths.map(|path| (path.clone(), document(&path))).collect()
}

/// The text between each pair of the marks, in one line.
pub(super) fn between<'a>(text: &'a str, open: &'a str, close: char) -> impl Iterator<Item = &'a str> {
    let pieces = text.lines().flat_map(move |line| line.split(open).skip(1));
    pieces.filter_map(move |piece| piece.split_once(close).map(|(inside, _)| inside))
}

/// The lines that open a block of code, without their marks.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("```")).step_by(2)
}

#[test]
fn each_chapter_is_in_the_guide_under_its_name() {
    let guide = document("src/guide.rs");
    let included: Vec<_> = between(&guide, "include_str!(\"../", '"').collect();
    let included: Vec<_> = included.into_iter().filter(|path| path.starts_with("docs/guide/")).collect();
    assert_eq!(included.iter().copied().collect::<BTreeSet<_>>().len(), included.len(), "a chapter twice");
    let mut sorted = included.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, chapters(), "the chapters that src/guide.rs includes, and the files");
    for chapter in included {
        let name = chapter.trim_start_matches("docs/guide/").trim_end_matches(".md");
        let module = format!("#[doc = include_str!(\"../{chapter}\")]\npub mod {name} {{}}");
        assert!(guide.contains(&module), "{chapter} is not the module {name}");
        assert!(guide.contains(&format!("//! * [`{name}`]: ")), "src/guide.rs does not list {name}");
    }
}

#[test]
fn the_examples_for_users_are_compiled() {
    for (path, text) in for_users() {
        let fences: Vec<_> = fences(&text).collect();
        let allowed = ["", "rust", "no_run", "rust,no_run", "toml", "yaml", "console", "sql"];
        for fence in &fences {
            assert!(allowed.contains(fence), "{path} has an example under {fence:?}");
        }
    }
    let readme = document("README.md");
    assert!(!fences(&readme).any(str::is_empty), "the README's examples have no highlighting");
    assert!(document("src/lib.rs").contains("#[doc = include_str!(\"../README.md\")]"));
}

fn documents() -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_links_of_the_documents_lead_to_files_and_headings() {
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let is_file =
            |link: &&str| !link.starts_with("https:") && (link.contains(".md") || link.starts_with('#'));
        for link in between(&text, "](", ')').filter(is_file) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            assert!(target.is_file(), "{} leads to {file}", path.display());
            let is_there =
                |line: &str| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-") == heading;
            let text = fs::read_to_string(target).unwrap();
            let leads = heading.is_empty() || text.lines().any(is_there);
            assert!(leads, "{link} in {} has no heading", path.display());
            count += 1;
        }
    }
    assert!(count > 50, "only {count} links are found");
}

#[test]
fn the_guide_lists_every_variable_of_the_configuration() {
    let code = document("zklock-core/src/client/config/env.rs");
    let settings = document("docs/guide/configuration.md");
    // Behind that, there are names of other programs.
    let (code, _) = code.split_once("fn warn_of_unknown").expect("it warns of other variables");
    let read: BTreeSet<_> = between(code, "\"ZKLOCK_", '"').collect();
    let rows = settings.lines().filter_map(|line| line.strip_prefix("| `ZKLOCK_"));
    let listed: Vec<_> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), read);
    assert_eq!(listed.len(), read.len(), "a variable twice");
}

/// The arguments in the first column of the table below a heading.
fn arguments<'a>(text: &'a str, heading: &str) -> BTreeSet<&'a str> {
    let level = heading.split(' ').next().unwrap();
    let below = text.lines().skip_while(|line| *line != heading).skip(1);
    let section = below.take_while(|line| line.split(' ').next() != Some(level));
    let rows = section.filter_map(|line| line.strip_prefix("| `"));
    // Other ways to write a value stand behind an "or".
    let cells = rows.filter_map(|row| row.split(" | ").next()?.split(" or ").next());
    let code = cells.flat_map(|cell| cell.split('`').step_by(2));
    let names = code.filter_map(|code| code.split([' ', '=']).next());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_readme_names_arguments_of_the_attribute_only() {
    let (readme, documented) = (document("README.md"), document("zklock-macros/doc/distributed_lock.md"));
    let (main, documented) =
        (arguments(&readme, "## The lock of a function"), arguments(&documented, "# Arguments"));
    assert!(main.len() > 5, "the README has only {main:?}");
    assert!(main.is_subset(&documented), "{main:?} are not all in {documented:?}");
}

#[test]
fn the_front_page_lists_the_features() {
    let manifest = document("Cargo.toml");
    let section = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let lines = section.take_while(|line| !line.starts_with('['));
    let features: BTreeSet<_> =
        lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    assert!(features.len() > 3, "{features:?}");
    let front = document("src/lib.rs");
    let section = front.lines().skip_while(|line| *line != "//! # Feature flags").skip(1);
    let items =
        section.take_while(|line| line.starts_with("//!")).filter_map(|line| line.strip_prefix("//! * "));
    let names = items.filter_map(|item| item.split_once(": "));
    let listed = names.flat_map(|(names, _)| names.split('`').skip(1).step_by(2)).collect();
    assert_eq!(features, listed, "the features of Cargo.toml, and those that src/lib.rs lists");
}

#[test]
fn the_service_of_the_guide_has_a_status_for_every_error() {
    let (error, example) = (document("zklock-core/src/error.rs"), document("examples/services/service.rs"));
    let variants = error.split_once("pub enum LockError {").unwrap().1.split_once("\n}").unwrap().0;
    let variants = variants.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    let variants: BTreeSet<_> = variants.filter(|name| !name.starts_with(' ')).collect();
    assert!(variants.len() > 20, "{variants:?}");
    let matched: BTreeSet<_> = between(&example, "LockError::", ' ').collect();
    assert_eq!(matched, variants, "the errors with a status in the example");
    let chapter = document("docs/guide/service.md");
    let (_, table) = chapter.split_once("# The HTTP status of each error").unwrap();
    let cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let listed: BTreeSet<_> = names.filter(|name| name.starts_with(char::is_uppercase)).collect();
    let listed: BTreeSet<_> = listed.into_iter().filter(|name| *name != "LockError").collect();
    assert_eq!(listed, variants, "the errors with a status in the chapter");
}
