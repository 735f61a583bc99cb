//! Holds of real locks, and their races.

mod races;

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::{FutureExt, lazy};
use futures_util::poll;
use tokio::sync::oneshot;

use super::*;
use crate::client::connected;
use crate::{Mutex as Lock, held};

#[tokio::test]
async fn a_deeper_entry_keeps_siblings_out_after_the_end_of_the_entry_around_it() {
    let (_server, client) = connected().await;
    let mutex = client.mutex("/a").unwrap();
    let outer = mutex.lock().await.unwrap();
    let inside = async {
        let entry = mutex.lock().await.unwrap();
        let heir = entry.scope(lazy(|_| inherit(mutex.try_lock()))).await;
        let deeper = heir.await.unwrap().expect("nobody is inside of the entry");
        assert!(mutex.try_lock().await.unwrap().is_none(), "a sibling of the entry is let in");
        drop(entry);
        assert!(mutex.try_lock().await.unwrap().is_none(), "a sibling of the entry is beside its heir");
        drop(deeper);
        mutex.try_lock().await.unwrap().expect("the heir has left")
    };
    drop(outer.scope(inside).await);
}

#[tokio::test]
async fn an_entry_that_has_ended_is_not_entered() {
    let (_server, client) = connected().await;
    let mutex = client.mutex("/a").unwrap();
    let outer = mutex.lock().await.unwrap();
    let inside = async {
        let entry = mutex.lock().await.unwrap();
        let heir = entry.scope(lazy(|_| inherit(async { (mutex.try_lock().await, held().len()) })));
        let heir = heir.await;
        drop(entry);
        let next = mutex.lock().await.unwrap();
        let (tried, held) = heir.await;
        assert!(tried.unwrap().is_none(), "the heir enters the entry that came after its own");
        assert_eq!(held, 1, "the first hold is left");
        drop(next);
    };
    outer.scope(inside).await;
}

async fn is_open(mutex: &Lock) -> bool {
    mutex.try_lock().await.unwrap().is_some()
}

#[tokio::test]
async fn a_body_keeps_siblings_out_until_it_ends_panics_or_is_dropped() {
    let (_server, client) = connected().await;
    let mutex = client.mutex("/a").unwrap();
    let guard = mutex.lock().await.unwrap();
    let siblings = async {
        let (end, ends) = oneshot::channel::<()>();
        let mut body = pin!(mutex.run(async |_| ends.await));
        assert!(poll!(&mut body).is_pending());
        assert!(!is_open(&mutex).await, "a body is inside");
        end.send(()).unwrap();
        body.await.unwrap().unwrap();
        let panics = AssertUnwindSafe(mutex.run(async |_| panic!("a bug of the user"))).catch_unwind();
        assert!(panics.await.is_err() && is_open(&mutex).await);
        let mut body = Box::pin(mutex.run(async |_| pending::<()>().await));
        assert!(poll!(&mut body).is_pending());
        drop(body);
        assert!(is_open(&mutex).await);
    };
    guard.scope(siblings).await;
}

#[tokio::test]
async fn a_body_does_not_begin_once_the_clock_ran_out_although_nobody_told_it() {
    let (_server, client) = connected().await;
    let guard = client.mutex("/a").unwrap().lock().await.unwrap();
    let has_begun = Cell::new(false);
    let mut body = Box::pin(guard.run(async { has_begun.set(true) }));
    guard.holds()[0].lease().session().clock().run_out();
    let step = poll_fn(|context| Poll::Ready(body.as_mut().poll(context))).await;
    assert!(matches!(step, Poll::Ready(Err(error)) if error.is_lost()));
    assert!(!has_begun.get());
}

#[tokio::test]
async fn a_hold_that_ends_during_an_entry_is_not_entered() {
    let (_server, client) = connected().await;
    let lock = client.rwlock("/a").unwrap();
    for (access, permits) in [(Access::Write, GATE_PERMITS), (Access::Read, 1)] {
        let writer = lock.write().await.unwrap();
        let entry = writer.holds()[0].entry().clone();
        let permit = entry.gate().clone().try_acquire_many_owned(permits).unwrap();
        let reader = writer.scope(lock.read());
        drop(writer);
        assert!(entry.join(access, permit).is_none());
        assert_eq!(entry.gate().available_permits(), GATE_PERMITS as usize);
        drop(reader);
        lock.write().await.unwrap().release().await.unwrap();
    }
}
