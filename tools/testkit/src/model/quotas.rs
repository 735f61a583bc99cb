//! The statistics of subtrees that have a quota: `StatsTrack`, and `DataTree.updateQuotaStat`.
//!
//! A subtree has a quota if its path below `/zookeeper/quota` has a node with limits. As by default on a real
//! server, no limit is enforced.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

use super::tree::{Data, Tree, Undo, child_of, name_of, parent_of, with_ancestors};

const QUOTAS: &str = "/zookeeper/quota";
const LIMITS: &str = "zookeeper_limits";
const STATISTICS: &str = "zookeeper_stats";

impl Tree {
    /// Adds a new node to the statistics, which are counted afresh if it is their own node.
    pub(super) fn count_created(&mut self, path: &str) -> Vec<Undo> {
        let recount = self.recount(path);
        let bytes = self.size_of(path);
        recount.into_iter().chain(self.count(path, 1, bytes)).collect()
    }

    /// Takes a node that had this number of bytes, and is deleted, out of the statistics.
    pub(super) fn count_deleted(&mut self, path: &str, bytes: i64) -> Option<Undo> {
        self.count(path, -1, -bytes)
    }

    /// Changes the statistics after the data of a node has been replaced, which had this number of bytes.
    pub(super) fn count_replaced(&mut self, path: &str, before: i64) -> Option<Undo> {
        let bytes = self.size_of(path) - before;
        self.count(path, 0, bytes)
    }

    /// Returns the length of a node's data in bytes.
    pub(super) fn size_of(&self, path: &str) -> i64 {
        self.get(path).map_or(0, |node| i64::from(node.stat().data_length))
    }

    /// Changes the statistics of the nearest quota above a node. Data that is no statistics stays as it is.
    fn count(&mut self, path: &str, nodes: i64, bytes: i64) -> Option<Undo> {
        let place = self.place_of_quota(path)?;
        let place = child_of(&place, STATISTICS);
        let mut statistics = Statistics::parse(self.get(&place)?.data.bytes.as_deref()?)?;
        statistics.add(COUNT, nodes);
        statistics.add(BYTES, bytes);
        Some(self.set_statistics(&place, &statistics))
    }

    /// Counts a subtree if the node is that of its statistics.
    fn recount(&mut self, path: &str) -> Option<Undo> {
        let counted = parent_of(path).ok()?.strip_prefix(QUOTAS).filter(|_| name_of(path) == STATISTICS)?;
        let below = child_of(if counted.is_empty() { "/" } else { counted }, "");
        let is_counted = |found: &str| found == counted || found.starts_with(&below);
        let sizes = self.paths().filter(|found| is_counted(found)).map(|found| self.size_of(found));
        let (nodes, bytes) = sizes.fold((0, 0), |(nodes, bytes), size| (nodes + 1, bytes + size));
        let statistics = Statistics([(COUNT.to_owned(), nodes), (BYTES.to_owned(), bytes)].into());
        Some(self.set_statistics(path, &statistics))
    }

    /// Returns the path below which the nearest quota of a node is, which the root cannot have.
    fn place_of_quota(&self, path: &str) -> Option<String> {
        let has_quotas = self.get(QUOTAS).is_some_and(|node| !node.children.is_empty());
        let candidates = with_ancestors(path).filter(|&above| has_quotas && above != "/");
        let mut places = candidates.map(|above| format!("{QUOTAS}{above}"));
        places.find(|place| self.get(&child_of(place, LIMITS)).is_some())
    }

    /// Replaces statistics as a server does by itself, without a new version and without an event.
    fn set_statistics(&mut self, path: &str, statistics: &Statistics) -> Undo {
        let bytes = Some(Bytes::from(statistics.to_string()));
        let data = Data { bytes, ..self.get_mut(path).data.clone() };
        self.replace_data(path, data)
    }
}

const COUNT: &str = "count";
const BYTES: &str = "bytes";

/// Numbers by their names.
#[derive(Debug, PartialEq, Eq)]
struct Statistics(BTreeMap<String, i64>);

impl Statistics {
    fn parse(data: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        let mut numbers = BTreeMap::new();
        for pair in text.split([',', ';']).filter(|pair| !pair.is_empty()) {
            let (name, rest) = pair.split_once('=')?;
            let number = rest.split('=').next().unwrap_or_default();
            let number = if number.is_empty() { MISSING } else { number.parse().ok()? };
            numbers.insert(name.to_owned(), number);
        }
        Some(Self(numbers))
    }

    fn number(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(MISSING)
    }

    fn add(&mut self, name: &str, change: i64) {
        let number = self.number(name).wrapping_add(change);
        self.0.insert(name.to_owned(), number);
    }
}

/// The value of a number that is not there, to which changes are added all the same.
const MISSING: i64 = -1;

impl fmt::Display for Statistics {
    /// Writes the two numbers that every version of ZooKeeper reads, and then the others in a form that old
    /// versions ignore.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{COUNT}={},{BYTES}={}", self.number(COUNT), self.number(BYTES))?;
        let others = self.0.iter().filter(|(name, _)| ![COUNT, BYTES].contains(&name.as_str()));
        for (index, (name, number)) in others.enumerate() {
            let separator = if index == 0 { "=;" } else { ";" };
            write!(f, "{separator}{name}={number}")?;
        }
        Ok(())
    }
}
