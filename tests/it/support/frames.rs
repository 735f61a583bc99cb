//! Interrupts the work of a client at each frame that it sends or receives, one after the other.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;
use zklock::{Client, Health};
use zklock_testkit::wire::Opcode;
use zklock_testkit::{How, Proxy, RuleBuilder};

use super::session_end::end_session;
use super::{Space, in_time, soon, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The frame is struck before the server sees it.
    Request,
    /// The frame is struck after the server has applied the request.
    Reply,
}

impl Frame {
    pub(crate) const BOTH: [Self; 2] = [Self::Request, Self::Reply];
}

/// The event that happens before the client reconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    Nothing,
    SessionEnds,
}

/// The caller's reaction when the connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Stays,
    Leaves,
}

pub(crate) struct Interrupted {
    pub(crate) space: Space,
    current: RefCell<(Rc<Proxy>, Client)>,
}

impl Interrupted {
    pub(crate) async fn new() -> Self {
        let (space, proxy, client) = Space::with_proxy().await;
        Self { space, current: RefCell::new((Rc::new(proxy), client)) }
    }

    pub(crate) fn client(&self) -> Client {
        self.current.borrow().1.clone()
    }

    fn proxy(&self) -> Rc<Proxy> {
        self.current.borrow().0.clone()
    }

    /// Connects a client for the next round. One whose sessions end one after the other would open the next one later
    /// each time. It has a proxy of its own, because replies to the last client may arrive after that client's end.
    async fn replace_client(&self) {
        let (proxy, client) = self.space.proxied().await;
        self.current.replace((Rc::new(proxy), client));
    }

    /// Starts `work` and drops it while its n-th frame is on the way, for every n. `after` checks the result each time, and
    /// has bounds of its own. Returns the number of frames.
    pub(crate) async fn drop_at_each<T, F>(
        &self,
        frame: Frame,
        work: impl Fn() -> F,
        after: impl AsyncFn(),
    ) -> u64
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        for n in 1.. {
            let proxy = self.proxy();
            let held = nth(&proxy, frame, n).hold();
            let mut working = tokio::spawn(work());
            let is_done = soon(async {
                tokio::select! {
                    biased;
                    done = &mut working => {
                        drop(done.unwrap());
                        true
                    }
                    () = held.struck() => false,
                }
            })
            .await;
            working.abort();
            held.release();
            proxy.clear();
            after().await;
            if is_done {
                return n - 1;
            }
        }
        unreachable!("work ends after finitely many frames")
    }

    /// Starts `work` and breaks its connection at its n-th frame, for every n. `after` checks the result each time, if the
    /// caller stays. Returns the number of frames.
    pub(crate) async fn cut_at_each<T, F>(
        &self,
        (frame, meanwhile, caller): (Frame, Meanwhile, Caller),
        work: impl Fn() -> F,
        after: impl AsyncFn(Option<T>),
    ) -> u64
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        for n in 1.. {
            // No reconnection of an earlier round may be under way.
            let (proxy, client) = (self.proxy(), self.client());
            until(|| async { client.health() == Health::Connected }, "the client is connected").await;
            // Before the cut, which a frame of the client itself may strike at once.
            let return_ = proxy.on_request(Opcode::CREATE_SESSION).hold();
            let cut = nth(&proxy, frame, n).cut(How::Rst);
            let mut working: JoinHandle<T> = tokio::spawn(work());
            let ends = async {
                tokio::select! {
                    biased;
                    done = &mut working => Some(done.unwrap()),
                    () = cut.struck() => None,
                }
            };
            let done = in_time(ends, &format!("the work ends, or its frame {n} is struck")).await;
            if let Some(done) = done {
                proxy.clear();
                after(Some(done)).await;
                return n - 1;
            }
            if caller == Caller::Leaves {
                working.abort();
            }
            let session = client.session_id();
            in_time(return_.struck(), &format!("the client is back after frame {n}")).await;
            if let (Meanwhile::SessionEnds, Some(session)) = (meanwhile, session) {
                end_session(self.space.server().address(), session);
            }
            proxy.clear();
            let done = in_time(working, &format!("the work ends after frame {n}")).await.ok();
            assert!(done.is_some() || caller == Caller::Leaves, "the work panicked");
            if meanwhile == Meanwhile::SessionEnds {
                self.replace_client().await;
            }
            after(done).await;
            if meanwhile == Meanwhile::SessionEnds {
                in_time(client.shutdown(Duration::ZERO), &format!("the client ends after frame {n}")).await;
            }
        }
        unreachable!("work ends after finitely many frames")
    }
}

fn nth(proxy: &Proxy, frame: Frame, n: u64) -> RuleBuilder<'_> {
    match frame {
        Frame::Request => proxy.on_any_request().nth(n),
        Frame::Reply => proxy.on_any_reply().nth(n),
    }
}
