//! Each transport with each kind of credentials and each access control list.

use rstest::rstest;
use zklock::{Acl, Client, Permission};

use crate::secured::{Credentials, Transport, entry, namespace, secured};
use crate::{assert_denied, failed, soon};

pub(crate) const PATH: &str = "/orders/7";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Open,
    CreatorAll,
    /// All permissions for the client, and reading for everybody.
    Entries,
}

/// Two clients with these credentials exclude each other, write under the lock, and hand it over.
pub(crate) async fn assert_work(first: &Client, second: &Client) {
    let (mutex, other) = (first.mutex(PATH).unwrap(), second.mutex(PATH).unwrap());
    let guard = soon(mutex.lock()).await.unwrap();
    assert!(other.try_lock().await.unwrap().is_none());
    assert_eq!(other.participants().await.unwrap().len(), 1);
    guard.upsert("/ledger", b"1").await.unwrap();
    let waiting = tokio::spawn(async move { soon(other.lock()).await.unwrap() });
    guard.release().await.unwrap();
    let next = soon(waiting).await.unwrap();
    assert_eq!(next.get("/ledger").await.unwrap().as_deref(), Some(&b"1"[..]));
    next.release().await.unwrap();
}

/// A client without credentials can do what the list gives to everybody, and nothing else.
pub(crate) async fn assert_kept_out(holder: &Client, stranger: &Client, list: List) {
    let guard = soon(holder.mutex(PATH).unwrap().lock()).await.unwrap();
    let own = holder.mutex(PATH).unwrap().participants().await.unwrap().remove(0);
    let mutex = stranger.mutex(PATH).unwrap();
    match list {
        List::Open => {
            assert!(mutex.try_lock().await.unwrap().is_none());
            stranger.revoke(&own).await.unwrap();
            soon(guard.revoked()).await;
            stranger.break_lock(&own).await.unwrap();
            soon(guard.lost()).await;
            failed(guard.release().await);
            return;
        }
        List::CreatorAll => assert_denied(mutex.participants().await, PATH, Permission::Read),
        List::Entries => assert_eq!(mutex.participants().await.unwrap().len(), 1),
    }
    assert_denied(soon(mutex.lock()).await.map(drop), PATH, Permission::Create);
    assert_denied(mutex.try_lock().await.map(drop), PATH, Permission::Create);
    assert_denied(stranger.revoke(&own).await, PATH, Permission::Write);
    assert_denied(stranger.break_lock(&own).await, PATH, Permission::Delete);
    guard.verify().await.unwrap();
    guard.release().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn locks_exclude_and_strangers_get_what_the_list_gives_to_all(
    #[values(Transport::Plain, Transport::Encrypted, Transport::Certified)] transport: Transport,
    #[values(Credentials::Nothing, Credentials::Digest, Credentials::Login)] credentials: Credentials,
    #[values(List::Open, List::CreatorAll, List::Entries)] list: List,
) {
    let (secured, namespace) = (secured(), namespace());
    let is_named = credentials != Credentials::Nothing || transport == Transport::Certified;
    let acl = match list {
        List::Open => Acl::Open,
        List::CreatorAll => Acl::CreatorAll,
        List::Entries => Acl::entries([entry(transport, credentials, "cdrwa"), "world:anyone:r".to_owned()]),
    };
    let config = secured.config(transport, credentials, &namespace).acl(acl);
    if list == List::CreatorAll && !is_named {
        let error = failed(config.connect().await);
        assert!(error.to_string().starts_with("invalid setting `acl`: it needs a digest"), "{error}");
        return;
    }
    let (first, second) = (config.clone().connect().await.unwrap(), config.connect().await.unwrap());
    assert_work(&first, &second).await;
    let open = if is_named { list } else { List::Open };
    assert_kept_out(&first, &secured.stranger(&namespace).await, open).await;
}
