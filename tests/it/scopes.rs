//! The clients of scopes, which take the place of installed ones.

use zklock::{LockError, Scope, distributed_lock};

use crate::support::{Space, failed};

type Session = Option<i64>;

/// Returns the session of the client that holds the lock.
#[distributed_lock(path = "/scopes/default", guard = held)]
async fn default() -> Result<Session, LockError> {
    held.verify().await?;
    Ok(zklock::client()?.session_id())
}

/// Returns the session of the client that holds the lock.
#[distributed_lock(path = "/scopes/named", client = "audit", guard = held)]
async fn audit() -> Result<Session, LockError> {
    held.verify().await?;
    Ok(zklock::named_client("audit")?.session_id())
}

#[tokio::test]
async fn a_scope_has_clients_by_name_and_the_innermost_scope_goes_first() {
    let (_, [outer, inner, named]) = Space::with_clients().await;
    let sessions = [&outer, &inner, &named].map(|client| client.session_id());
    let scope = Scope::new().client(outer.clone()).named("audit", named.clone());
    let both = async || (default().await.unwrap(), audit().await.unwrap());
    let within = async {
        let before = both().await;
        let inside = zklock::scope(inner.clone(), both()).await;
        let renamed = Scope::new().named("audit", inner.clone()).run(both()).await;
        [before, inside, renamed, both().await]
    };
    let [outer, inner, named] = sessions;
    let seen = scope.run(within).await;
    assert_eq!(seen, [(outer, named), (inner, named), (outer, inner), (outer, named)]);
}

#[tokio::test]
async fn a_scope_goes_with_the_tasks_of_its_call_and_not_with_others() {
    let (_, [client, named]) = Space::with_clients().await;
    let sessions = (client.session_id(), named.session_id());
    let scope = Scope::new().client(client).named("audit", named);
    let (spawned, other) = scope
        .run(async {
            let both = async { (default().await.unwrap(), audit().await.unwrap()) };
            (zklock::spawn(both).await.unwrap(), tokio::spawn(audit()).await.unwrap())
        })
        .await;
    assert_eq!(spawned, sessions);
    let error = failed(other);
    assert!(matches!(&error, LockError::NotInstalled { name: Some(name), .. } if name == "audit"), "{error}");
}
