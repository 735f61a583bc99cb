//! The SQL statements of docs/guide/stores.md.

use std::fs;
use std::sync::LazyLock;

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/stores.md");
    fs::read_to_string(page).expect("the page is there")
});

/// Returns the statements of one form of the tokens in one database.
pub(super) fn statements(database: &str, form: &str) -> [String; 3] {
    let text = section(section(&PAGE, &format!("# {database}\n"), "\n# "), &format!("## {form}\n"), "\n## ");
    let found: Vec<_> = blocks(text).map(str::to_owned).collect();
    found.try_into().unwrap_or_else(|found| panic!("{database}, {form}: {found:#?} are not three statements"))
}

pub(super) fn count(database: &str) -> usize {
    blocks(section(&PAGE, &format!("# {database}\n"), "\n# ")).count()
}

/// Returns the text from a heading to the next one of its level.
fn section<'a>(text: &'a str, heading: &str, next: &str) -> &'a str {
    let heading = format!("\n{heading}");
    let start = text.find(&heading).unwrap_or_else(|| panic!("the page has no {heading:?}"));
    let rest = &text[start + heading.len()..];
    rest.split(next).next().unwrap_or(rest)
}

fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next())
}
