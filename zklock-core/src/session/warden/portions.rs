//! Divides many nodes into portions, so that the answer to one question has a part of them only.
//!
//! `getEphemerals` selects nodes by the text with which their paths begin. The client library reads an answer as a whole,
//! in the thread that also proves the leases, and keeps the memory that the longest one took. Pure: no request.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tokio::task::yield_now;

use crate::session::charge::Charge;
use crate::session::notice::size_on_the_wire;
use crate::session::present::AT_A_TIME;

/// Locks whose nodes have paths that begin alike.
pub(super) struct Portion {
    /// The text with which the paths begin. Those of other portions do not begin with it.
    prefix: String,
    /// The size of the paths in an answer.
    bytes: usize,
    pub(super) locks: Vec<Arc<dyn Charge>>,
}

/// The portions of the locks whose paths are alike up to a place, by the next character there. `None`: the path ends.
type Portions = BTreeMap<Option<char>, Portion>;

/// Divides locks by the paths of their nodes. Leaves out those that have no node at present. A portion stays as long as it
/// is if more than [`MOST`] would be made of it.
pub(super) async fn divide(locks: Vec<Arc<dyn Charge>>) -> Vec<Portion> {
    let mut open: Vec<_> = split(locks, 0).await.into_values().collect();
    let mut done = Vec::new();
    while let Some(largest) = (0..open.len()).max_by_key(|place| open[*place].bytes) {
        let mut portion = open.swap_remove(largest);
        if portion.bytes <= LONGEST {
            done.push(portion);
            continue;
        }
        let parts = split(portion.locks, portion.prefix.len()).await;
        if parts.contains_key(&None) || open.len() + done.len() + parts.len() > MOST {
            portion.locks = parts.into_values().flat_map(|part| part.locks).collect();
            done.push(portion);
        } else {
            open.extend(parts.into_values());
        }
    }
    done
}

/// Divides locks whose paths are alike up to this place.
async fn split(locks: Vec<Arc<dyn Charge>>, place: usize) -> Portions {
    let mut portions = Portions::new();
    for (number, lock) in locks.into_iter().enumerate() {
        let path = lock.node().map(|node| lock.path(&node));
        // Another node may have replaced the one by which the lock came here.
        if let Some((path, rest)) = path.as_deref().and_then(|path| Some((path, path.get(place..)?))) {
            let next = rest.chars().next();
            portions.entry(next).or_insert_with(|| Portion::beginning_with(path)).add(path, lock);
        }
        if number.is_multiple_of(AT_A_TIME) {
            yield_now().await;
        }
    }
    portions
}

impl Portion {
    fn beginning_with(path: &str) -> Self {
        Self { prefix: path.to_owned(), bytes: 0, locks: Vec::new() }
    }

    fn add(&mut self, path: &str, lock: Arc<dyn Charge>) {
        if !path.starts_with(&self.prefix) {
            let both = self.prefix.chars().zip(path.chars());
            let alike = both.take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum();
            self.prefix.truncate(alike);
        }
        self.bytes += size_on_the_wire(path);
        self.locks.push(lock);
    }

    /// Returns the question and the locks, which may be released before it is asked.
    pub(super) fn downgrade(self) -> (String, Vec<Weak<dyn Charge>>) {
        (self.question().to_owned(), self.locks.iter().map(Arc::downgrade).collect())
    }

    /// Returns a text with which the paths begin, and which is a path that can be asked for.
    pub(super) fn question(&self) -> &str {
        match self.prefix.trim_end_matches(['/', '.']) {
            "" => "/",
            path => path,
        }
    }
}

/// The size of the paths, in bytes, up to which they are not divided. The longest request that servers take by default has
/// one byte less (`jute.maxbuffer`).
const LONGEST: usize = 1 << 20;

/// The most portions. One hexadecimal digit makes sixteen.
const MOST: usize = 16;

#[cfg(test)]
pub(super) mod tests {
    use crate::error::LossReason;
    use crate::queue::contender::Name;
    use crate::session::charge::Vigil;
    use crate::session::{Link, Ownership};

    use super::*;

    /// A lock with a node at this path.
    pub(in crate::session::warden) struct Lock(pub(in crate::session::warden) String);

    impl Charge for Lock {
        fn node(&self) -> Option<Name> {
            Some(Name::new("node"))
        }

        fn path(&self, _: &Name) -> String {
            self.0.clone()
        }

        fn epoch(&self) -> u64 {
            0
        }

        fn watch(self: Arc<Self>) -> Option<Vigil> {
            None
        }

        fn conclude(&self, _: Ownership, _: u64) {}

        fn note_health(&self, _: Link) {}

        fn lose(&self, _: LossReason) {}
    }

    fn locks(paths: impl IntoIterator<Item = String>) -> Vec<Arc<dyn Charge>> {
        paths.into_iter().map(|path| Arc::new(Lock(path)) as Arc<dyn Charge>).collect()
    }

    fn paths(locks: &[Arc<dyn Charge>]) -> Vec<String> {
        locks.iter().map(|lock| lock.path(&Name::new("node"))).collect()
    }

    /// Divides locks with these paths. Returns the questions, each with the number of its locks.
    async fn divided(paths: impl IntoIterator<Item = String>) -> Vec<(String, usize)> {
        let portions = divide(locks(paths)).await;
        let mut told: Vec<_> =
            portions.iter().map(|portion| (portion.question().to_owned(), portion.locks.len())).collect();
        told.sort();
        told
    }

    /// Texts that are together longer than one answer, each with this text in it.
    fn many(text: impl Fn(usize) -> String) -> impl Iterator<Item = String> {
        (0..LONGEST / 1000).map(move |number| format!("{}/{}", text(number), "x".repeat(1000)))
    }

    #[tokio::test]
    async fn few_nodes_are_one_portion() {
        assert_eq!(divided([]).await, []);
        assert_eq!(divided(["/a/b/1", "/a/b/2"].map(String::from)).await, [("/a/b".into(), 2)]);
        assert_eq!(divided(["/a", "/b"].map(String::from)).await, [("/".into(), 2)]);
    }

    #[tokio::test]
    async fn many_nodes_are_divided_where_their_paths_differ() {
        let portions = divided(many(|number| format!("/locks/{}", number % 10))).await;
        assert_eq!(portions.len(), 10);
        for (digit, (question, count)) in portions.iter().enumerate() {
            assert!(question.starts_with(&format!("/locks/{digit}/x")), "{question}");
            assert!((104..=105).contains(count));
        }
    }

    #[tokio::test]
    async fn each_lock_is_in_one_portion_and_is_found_by_its_question() {
        let mut all: Vec<_> =
            many(|number| format!("/ä{}/{}", "bcd".repeat(number % 3), number % 7)).collect();
        let portions = divide(locks(all.clone())).await;
        assert!((2..=MOST).contains(&portions.len()));
        let mut found = Vec::new();
        for portion in &portions {
            let paths = paths(&portion.locks);
            assert!(paths.iter().all(|path| path.starts_with(portion.question())));
            found.extend(paths);
        }
        found.sort();
        all.sort();
        assert_eq!(found, all);
    }

    #[tokio::test]
    async fn a_lock_whose_node_has_another_path_meanwhile_is_left_out() {
        let portions = split(locks(["/ä", "/ab", "/a"].map(String::from)), 2).await;
        assert_eq!(portions.len(), 2);
        assert_eq!(paths(&portions[&Some('b')].locks), ["/ab"]);
        assert_eq!(paths(&portions[&None].locks), ["/a"]);
    }

    #[tokio::test]
    async fn the_largest_portions_are_divided_first() {
        let long = "x".repeat(LONGEST / 16);
        let leaves = (0..2 * MOST).flat_map(|leaf| (0..17).map(move |number| (leaf, number)));
        let portions = divided(leaves.map(|(leaf, number)| format!("/{leaf:05b}/{number:02}{long}"))).await;
        assert_eq!(portions.len(), MOST);
        assert!(portions.iter().all(|(_, count)| *count == 2 * 17), "{MOST} portions of two leaves each");
    }

    #[tokio::test]
    async fn too_many_portions_are_not_made() {
        let letters: Vec<char> = ('a'..='z').collect();
        let portions = divided(many(|number| format!("/locks/{}", letters[number % 26]))).await;
        assert_eq!(portions, [("/locks".into(), LONGEST / 1000)]);
    }

    #[tokio::test]
    async fn a_path_with_which_another_one_begins_is_not_divided_from_it() {
        let long = format!("/{}", "x".repeat(LONGEST));
        let portions = divided([long.clone(), format!("{long}/y")]).await;
        assert_eq!(portions, [(long, 2)]);
    }

    #[tokio::test]
    async fn a_question_is_a_path_that_a_client_may_ask_for() {
        for (paths, question) in [
            (["/a/.b", "/a/.c"], "/a"),
            (["/a/..b", "/a/..c"], "/a"),
            (["/.b", "/.c"], "/"),
            (["/a.b/c", "/a.b/d"], "/a.b"),
        ] {
            assert_eq!(divided(paths.map(String::from)).await, [(question.into(), 2)]);
        }
    }
}
