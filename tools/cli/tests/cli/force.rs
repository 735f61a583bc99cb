//! `zklock revoke`, `break` and `resign`.

use crate::keys::INTERRUPT;
use crate::support::{Space, soon};

#[tokio::test]
async fn a_holder_is_asked_to_release() {
    let space = Space::new();
    let client = space.client().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let revoked = space.zklock("revoke /a --yes").run();
    assert_eq!((revoked.code, revoked.out), (0, format!("asked {}\n", client.identity())));
    soon(guard.revoked()).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    assert_eq!(space.zklock("revoke /a --yes").run().code, 70, "nobody holds it");
}

#[tokio::test]
async fn a_lock_is_taken_from_its_holder_after_a_question() {
    let space = Space::new();
    let mut holder = space.holder("/a --identity holder");
    space.zklock("break /a").ends(64);
    let ask = |answer: &'static str| {
        let mut terminal = space.zklock("").on_terminal("exec \"$ZKLOCK\" break /a", "").start();
        // The question ends without a line.
        terminal.line_with("holder, at /a since ");
        terminal.types(answer);
        terminal
    };
    assert_eq!(ask("n\n").code().await, 64);
    assert_eq!(ask(INTERRUPT).code().await, 130);
    assert_eq!(space.children("/a").await.len(), 1);
    assert_eq!(ask("y\n").code().await, 0);
    assert_eq!(holder.code().await, 79);
    space.until_queued("/a", 0).await;
}

#[tokio::test]
async fn a_leader_whose_leadership_is_taken_away_is_the_last_candidate() {
    let space = Space::new();
    let script = "echo $ZKLOCK_PATH leads; exec sleep 1000";
    let mut first = space.zklock("lead /boss --identity first").shell(script).start();
    first.line();
    let mut second = space.zklock("lead /boss --identity second").shell(script).start();
    space.until_queued("/boss", 2).await;
    let resigned = space.zklock("resign /boss --yes").run();
    assert_eq!((resigned.code, resigned.out.as_str()), (0, "removed first\n"));
    assert_eq!(second.line(), "/boss leads");
    space.until_queued("/boss", 2).await;
    assert_eq!(space.zklock("resign /boss --yes").run().out, "removed second\n");
    assert_eq!(first.line(), "/boss leads");
    let client = space.client().await;
    let reader = client.rwlock("/rw").unwrap().read().await.unwrap();
    assert_eq!(space.zklock("resign /rw --yes").run().code, 64, "a reader is no leader");
    reader.release().await.unwrap();
}
