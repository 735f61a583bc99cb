//! A request that is longer than servers accept is refused before it is sent. A server would close its connection.

use std::time::Duration;

use zklock::{Acl, Client, LockError, MutexGuard, Permits, Refusal};
use zklock_testkit::Proxy;

use crate::support::{Space, failed, soon};

/// A client, another lock of which is held over one connection.
struct Scene {
    proxy: Proxy,
    client: Client,
    other: MutexGuard,
}

impl Scene {
    async fn new(space: &Space) -> Self {
        // Requests with such long paths take long in a build without optimisation.
        let (proxy, client) = space.proxied_with(|config| config.default_wait(LONG)).await;
        let other = client.mutex("/other").unwrap().lock().await.unwrap();
        Self { proxy, client, other }
    }

    /// Returns the length of the request that was refused, and checks that the connection is still the first one.
    #[track_caller]
    fn refused<T: std::fmt::Debug>(&self, outcome: Result<T, LockError>, at: &str) -> usize {
        assert_eq!(self.proxy.connections(), 1, "the server has closed the connection");
        assert!(self.other.is_held());
        match failed(outcome) {
            LockError::Refused { path, refusal: Refusal::Other(reason), .. } if path == at => {
                assert!(reason.contains("at most 1048575 (`jute.maxbuffer`)"), "{reason}");
                let length = reason.split(' ').nth(2).and_then(|length| length.parse().ok());
                length.unwrap_or_else(|| panic!("{reason}"))
            }
            error => panic!("not refused: {}", error.to_string().chars().rev().take(99).collect::<String>()),
        }
    }
}

fn long(of: char, bytes: usize) -> String {
    format!("/{}", of.to_string().repeat(bytes - 1))
}

const LONGEST: usize = 1_048_575;
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_guarded_write_is_as_long_as_its_data_and_all_of_its_paths() {
    let space = Space::new();
    let scene = Scene::new(&space).await;
    let guard = scene.client.mutex("/a").unwrap().lock().await.unwrap();
    let path = long('d', 60_000);
    scene.refused(guard.upsert(&path, vec![0; 999_999]).await, &path);
    scene.refused(guard.create(&path, vec![0; 999_999]).await, &path);
    guard.upsert("/data", "x").await.unwrap();
    // The longest data that a server accepts, found by the length of a request with too much.
    let beyond = scene.refused(guard.set_data("/data", vec![0; LONGEST]).await, "/data") - LONGEST;
    guard.set_data("/data", vec![0; LONGEST - beyond]).await.unwrap();
    let length = scene.refused(guard.set_data("/data", vec![0; LONGEST - beyond + 1]).await, "/data");
    assert_eq!(length, LONGEST + 1);
    let beyond = scene.refused(guard.create("/more", vec![0; LONGEST]).await, "/more") - LONGEST;
    guard.create("/more", vec![0; LONGEST - beyond]).await.unwrap();
    assert_eq!(guard.get("/more").await.unwrap().unwrap().len(), LONGEST - beyond);
    assert_eq!((scene.proxy.connections(), guard.is_held()), (1, true));
}

#[tokio::test]
async fn a_request_under_several_locks_contains_the_paths_of_all() {
    let space = Space::new();
    let scene = Scene::new(&space).await;
    let paths = ('a'..='o').map(|of| long(of, 60_000));
    let all = soon(scene.client.lock_all(paths)).await.unwrap();
    let (data, tick) = (long('x', 150_000), long('y', 150_000));
    scene.refused(all.upsert(&data, "x").await, &data);
    scene.refused(all.delete(&data).await, &data);
    scene.refused(all.once_per(&tick, Duration::from_secs(60)).await, &tick);
    assert!(all.is_held());
    soon(all.release()).await.unwrap();
    assert_eq!(scene.proxy.connections(), 1);
    space.until_empty(&long('o', 60_000)).await;
}

#[tokio::test]
async fn a_downgrade_contains_the_path_of_the_lock_twice() {
    let space = Space::new();
    let scene = Scene::new(&space).await;
    let path = long('a', 530_000);
    let writer = scene.client.rwlock(&path).unwrap().write().await.unwrap();
    scene.refused(soon(writer.downgrade()).await, &path);
}

#[tokio::test]
async fn the_access_control_list_of_a_new_node_counts() {
    let space = Space::new();
    let scene = Scene::new(&space).await;
    let entries = (0..50_000).map(|user| format!("sasl:user-{user:010}:cdrwa"));
    let config = space.config_at(scene.proxy.connect_string()).acl(Acl::entries(entries));
    let client = config.connect().await.unwrap();
    let (one, both) = (client.mutex("/a").unwrap(), client.multi(["/a", "/b"]).unwrap());
    let errors = [failed(soon(one.lock()).await), failed(soon(both.lock()).await)];
    let election = client.leader("/a").unwrap();
    for error in errors.into_iter().chain([failed(soon(election.leadership()).await)]) {
        assert!(error.to_string().starts_with("request on /a refused: it has "), "{error}");
    }
    assert_eq!(scene.proxy.connections(), 2, "a server has closed a connection");
}

#[tokio::test]
async fn the_path_of_a_shared_number_counts_with_that_of_its_semaphore() {
    let space = Space::new();
    let scene = Scene::new(&space).await;
    // The nodes of the gate and the permit are there at the same time.
    let path = long('a', 400_000);
    let shared = scene.client.semaphore(&path, Permits::shared(long('n', 700_000), 2)).unwrap();
    scene.refused(soon(shared.acquire()).await, &path);
}
