//! Holders on one side that the other side asks to release.

use zklock::{Client, Participant};

use crate::face::Held;
use crate::peer::Actor;
use crate::support::{Space, soon};

/// Has Java ask a zklock holder to release, and waits until the holder is notified.
pub(crate) async fn ask_ours(space: &Space, recipe: &str, path: &str, mode: &str, held: &Held) {
    let mut theirs = space.actor(recipe, path).await;
    let (node, _) = theirs.participants(mode).await.remove(0);
    theirs.ask(&format!("revoke {node}")).await;
    soon(held.revoked()).await;
    // The holder was only asked to release.
    assert!(held.is_held());
}

/// Asks a holder in Java to release, which it does when it is told.
pub(crate) async fn ask_theirs(client: &Client, holder: &Participant, theirs: &mut Actor, mode: &str) {
    client.revoke(holder).await.unwrap();
    assert_eq!(theirs.event().await, "revoked");
    theirs.ask(&format!("release {mode}")).await;
}
