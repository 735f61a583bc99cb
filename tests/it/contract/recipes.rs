//! Locks of different recipes at one path.

use rstest_reuse::apply;
use zklock::LockError;

use super::PATH;
use super::face::Face;
use super::templates::every_lock_and_readers;
use crate::support::{Space, failed, soon, until};

/// Returns the name of the recipe of a lock.
fn recipe(face: Face) -> &'static str {
    match face {
        Face::Mutex | Face::Multi => "a mutex",
        Face::Reader | Face::Writer => "a read-write lock",
        Face::Exclusive | Face::Semaphore | Face::Permits => "a semaphore",
        Face::Leader => "an election",
    }
}

/// Counts the nodes of contenders of any recipe.
async fn contenders(space: &Space) -> usize {
    let parents = ["leases", "locks"];
    let mut nodes = space.children(PATH).await;
    for parent in parents {
        nodes.extend(space.children(&format!("{PATH}/{parent}")).await);
    }
    nodes.iter().filter(|node| !parents.contains(&node.as_str())).count()
}

#[apply(every_lock_and_readers)]
#[tokio::test]
async fn lock_of_another_recipe_is_refused_while_a_path_is_in_use_and_disturbs_nobody(
    face: Face,
    #[values(
        Face::Mutex,
        Face::Exclusive,
        Face::Reader,
        Face::Writer,
        Face::Semaphore,
        Face::Permits,
        Face::Leader
    )]
    other: Face,
) {
    let (space, [client, stranger]) = Space::with_clients().await;
    let held = face.of(&client, PATH).take().await;
    let (inside, outside) = (other.of(&client, PATH), other.of(&stranger, PATH));
    let tried = soon(outside.try_lock()).await;
    let is_mixed = matches!(tried, Err(LockError::MixedRecipes { .. }));
    assert_eq!(is_mixed, recipe(other) != recipe(face), "{tried:?}");
    drop(tried);
    if is_mixed {
        for error in [failed(soon(outside.lock()).await), failed(soon(held.scope(inside.lock())).await)] {
            let LockError::MixedRecipes { path, own, other: theirs, .. } = &error else { panic!("{error}") };
            assert_eq!((path.as_str(), own.as_str(), theirs.as_str()), (PATH, recipe(other), recipe(face)));
        }
    }
    let nodes = if face == Face::Permits { 2 } else { 1 };
    until(async || contenders(&space).await == nodes, "the other one is gone").await;
    assert!(held.is_held());
    assert!(face.rival().of(&stranger, PATH).try_lock().await.unwrap().is_none());
    held.release().await.unwrap();
    // A path that is free again may have another recipe.
    outside.take().await.release().await.unwrap();
    until(async || contenders(&space).await == 0, "nothing is left").await;
}
