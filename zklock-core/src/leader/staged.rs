//! Terms of tests, and an executor that polls where it is woken.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake};
use std::thread;
use std::time::Duration;

use zklock_testkit::EmbeddedServer;

use crate::client::{Client, connected};
use crate::error::LossReason;
use crate::hold::Leading;
use crate::queue::claim::Role;

use super::leadership::Leadership;
use super::office::Office;

/// A term that no candidate watches, so that the first look after its loss tells of its end.
pub(super) struct Unwatched {
    pub(super) client: Client,
    pub(super) office: Office,
    pub(super) term: Leadership,
    _server: EmbeddedServer,
}

impl Unwatched {
    pub(super) async fn begin() -> Self {
        let (server, client) = connected().await;
        let watched = client.leader("/a").unwrap().leadership().await.unwrap();
        let office = client.election("/a").unwrap().office(client.worker().clone(), Role::Latch);
        let term = Leadership::begin(&office, watched.share().tenure(), 1);
        Self { client, office, term, _server: server }
    }

    /// Checks that the look that tells of the end of the term wakes others while another thread can publish: the thread of
    /// the client waits for a lock that is held meanwhile, and so does a look of the task that is woken.
    pub(super) fn check(&self, publish: impl Fn() + Clone + Send + Sync + 'static, look: impl FnOnce()) {
        let (tell, told) = mpsc::channel();
        let task = Arc::new(Inline(move || {
            let (publish, (published, wait)) = (publish.clone(), mpsc::channel());
            thread::spawn(move || {
                publish();
                published.send(()).ok();
            });
            tell.send(wait.recv_timeout(LONG)).expect("the test waits");
        }));
        let token = self.term.cancellation_token();
        let over = pin!(token.cancelled());
        assert!(over.poll(&mut Context::from_waker(&task.into())).is_pending());
        self.term.share().tenure().lose(LossReason::LeaseExpired);
        look();
        assert_eq!(told.try_recv().expect("the look ends the term"), Ok(()), "a lock is held");
    }
}

/// A task that runs in the thread that wakes it.
struct Inline<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Inline<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

const LONG: Duration = Duration::from_secs(5);
