//! Reads the floors of each crate from ARCHITECTURE.md.

use std::collections::BTreeMap;

use super::imports::{Arrow, Module};

/// The top-level modules of a crate, by their floor; the highest floor is 0.
#[derive(Debug)]
pub(super) struct Floors(BTreeMap<String, usize>);

impl Floors {
    /// Reads the list below the bullet that begins with `folder`: one line per floor, the highest first, with the names
    /// of its rooms in front of the dash.
    pub(super) fn read(architecture: &str, folder: &str) -> Self {
        let title = format!("* `{folder}/`");
        let lines = architecture.lines().skip_while(|line| !line.starts_with(&title)).skip(1);
        let list = lines.take_while(|line| line.is_empty() || line.starts_with("  "));
        let floors = list.filter_map(|line| line.strip_prefix("  * ")).map(rooms);
        let by_room =
            floors.enumerate().flat_map(|(floor, rooms)| rooms.into_iter().map(move |room| (room, floor)));
        let floors = Self(by_room.collect());
        assert!(!floors.0.is_empty(), "ARCHITECTURE.md lists no floors of {folder}");
        floors
    }

    pub(super) fn rooms(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The arrows between rooms that do not go down; the root may name every room.
    pub(super) fn rising<'a>(&self, arrows: impl IntoIterator<Item = &'a Arrow>) -> Vec<&'a Arrow> {
        let floor = |module: &Module| module.first().map(|room| self.0.get(room).copied());
        let rises = |arrow: &&Arrow| match (floor(&arrow.from), floor(&arrow.to)) {
            _ if arrow.from.first() == arrow.to.first() => false,
            (None, _) => false,
            (Some(from), Some(to)) => from >= to,
            // A room that names the root.
            (Some(_), None) => true,
        };
        arrows.into_iter().filter(rises).collect()
    }
}

/// The names between backticks in front of the dash.
fn rooms(line: &str) -> Vec<String> {
    let names = line.split(" — ").next().unwrap_or_default();
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
