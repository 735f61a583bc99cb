//! The names of locks in events, which have no value of a path in them.

use zklock::{Client, Events, LockError, LockEventKind, Member, Mode, distributed_lock, leader_only};

use crate::support::{Space, soon};

#[distributed_lock(path = "/orders/{id}", client = client)]
async fn settle(client: &Client, id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/orders/{id}", mode = read, client = client, name = "shown orders")]
fn show(client: &Client, id: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/accounts/{from}", "/banks/{to}", ..more], client = client)]
async fn transfer(client: &Client, from: u64, to: u64, more: &[String]) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = ["/accounts/{from}", "/banks/{to}"], client = client, name = "transfers")]
async fn transfer_named(client: &Client, from: u64, to: u64) -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = path, of = 2, client = client)]
async fn computed(client: &Client, path: &str) -> Result<(), LockError> {
    Ok(())
}

#[leader_only(path = "/leaders/{region}", client = client, otherwise = wait)]
async fn lead(client: &Client, region: u64) {}

#[leader_only(path = "/others/{region}", client = client, otherwise = wait, name = "other leaders")]
async fn lead_named(client: &Client, region: u64) {}

async fn begun(events: &mut Events) -> (String, String, Mode) {
    loop {
        let event = soon(events.next()).await.expect("the client is there");
        if let LockEventKind::Begun { .. } = event.kind {
            return (event.path, event.label.into_owned(), event.mode);
        }
    }
}

async fn check(events: &mut Events, path: &str, label: &str, mode: Mode) {
    assert_eq!(begun(events).await, (path.to_owned(), label.to_owned(), mode));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_annotated_function_names_its_locks_after_its_template_or_its_name() {
    let client = Space::new().client().await;
    let mut events = client.events();
    settle(&client, 7).await.unwrap();
    check(&mut events, "/orders/7", "/orders/{id}", Mode::Exclusive).await;
    show(&client, 8).unwrap();
    check(&mut events, "/orders/8", "shown orders", Mode::Read).await;
    transfer(&client, 1, 2, &["/more/3".into()]).await.unwrap();
    check(&mut events, "/accounts/1", "/accounts/{from}", Mode::Exclusive).await;
    check(&mut events, "/banks/2", "/banks/{to}", Mode::Exclusive).await;
    check(&mut events, "/more/3", "unnamed", Mode::Exclusive).await;
    transfer_named(&client, 1, 2).await.unwrap();
    check(&mut events, "/accounts/1", "transfers", Mode::Exclusive).await;
    check(&mut events, "/banks/2", "transfers", Mode::Exclusive).await;
    computed(&client, "/rooms/9").await.unwrap();
    check(&mut events, "/rooms/9", "unnamed", Mode::Permit).await;
    lead(&client, 4).await;
    check(&mut events, "/leaders/4", "/leaders/{region}", Mode::Leader).await;
    lead_named(&client, 5).await;
    check(&mut events, "/others/5", "other leaders", Mode::Leader).await;
}

#[tokio::test]
async fn a_handle_has_the_name_that_it_is_given() {
    let client = Space::new().client().await;
    let mut events = client.events();
    client.mutex("/a").unwrap().named("first").lock().await.unwrap().release().await.unwrap();
    check(&mut events, "/a", "first", Mode::Exclusive).await;
    let lock = client.rwlock("/b").unwrap().named("second".to_owned());
    lock.write().await.unwrap().release().await.unwrap();
    check(&mut events, "/b", "second", Mode::Write).await;
    client.semaphore("/c", 2).unwrap().named("third").acquire().await.unwrap().release().await.unwrap();
    check(&mut events, "/c", "third", Mode::Permit).await;
    let both = client.multi([Member::read("/b").named("fourth"), Member::mutex("/d")]).unwrap();
    both.lock().await.unwrap().release().await.unwrap();
    check(&mut events, "/b", "fourth", Mode::Read).await;
    check(&mut events, "/d", "unnamed", Mode::Exclusive).await;
    client.election("/e").unwrap().named("fifth").latch().close().await.unwrap();
    check(&mut events, "/e", "fifth", Mode::Leader).await;
    client.leader("/f").unwrap().named("sixth").join().await.unwrap();
    check(&mut events, "/f", "sixth", Mode::Leader).await;
}
