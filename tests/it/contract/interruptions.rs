//! Calls that are dropped, or whose connection breaks, at each of their requests and replies.

use std::cell::Cell;

use rstest_reuse::apply;
use zklock::{Client, LeaseState, LockError};

use super::PATH;
use super::face::{Face, Held, Lock};
use super::templates::every_lock_and_readers;
use crate::support::frames::{Caller, Frame, Interrupted, Meanwhile};
use crate::support::{Space, soon, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// It takes a lock at a path that nobody has used.
    LockNew,
    Lock,
    /// It tries to take a lock that another client holds.
    Try,
    /// It takes a lock after another client.
    Wait,
    Release,
    /// It takes a lock for writing, and goes on as a reader.
    Downgrade,
    /// It takes a lock for writing, reads inside, and stops writing.
    DropWriter,
}

impl Call {
    /// The fewest requests that each lock needs for it.
    const fn least_frames(self) -> u64 {
        match self {
            Self::LockNew | Self::Lock | Self::Release => 1,
            Self::Try | Self::Downgrade | Self::DropWriter => 2,
            Self::Wait => 4,
        }
    }
}

async fn is_readers(space: &Space) -> bool {
    space.children(PATH).await.iter().any(|node| node.contains("__READ__"))
}

type Outcome = Result<Option<Held>, LockError>;

struct Scene {
    of: Interrupted,
    other: Client,
    face: Face,
    round: Cell<u32>,
}

impl Scene {
    async fn new(face: Face) -> Self {
        let of = Interrupted::new().await;
        let other = of.space.client().await;
        let scene = Self { of, other, face, round: Cell::new(0) };
        // This creates the parents, and the client has to list.
        scene.rival().take().await.release().await.unwrap();
        scene
    }

    fn space(&self) -> &Space {
        &self.of.space
    }

    fn rival(&self) -> Lock {
        self.face.rival().of(&self.other, PATH)
    }

    /// Returns the path that the next call at a new path locks, or the last one did.
    fn new_path(&self) -> String {
        format!("/new/{}/lock", self.round.get())
    }

    /// Returns the guard that the call leaves to its caller, or the error of a release.
    fn start(&self, call: Call) -> impl Future<Output = Outcome> + Send + 'static + use<> {
        let (client, rival, space) = (self.of.client(), self.rival(), self.of.space.clone());
        let face = self.face;
        let reader = Face::Reader.of(&client, PATH);
        let lock = self.face.of(&client, PATH);
        self.round.set(self.round.get() + 1);
        let new = self.face.of(&client, &self.new_path());
        async move {
            match call {
                Call::LockNew => Ok(Some(new.take().await)),
                Call::Lock => Ok(Some(lock.take().await)),
                Call::Try => {
                    let _held = rival.take().await;
                    assert!(lock.try_lock().await.unwrap().is_none());
                    Ok(None)
                }
                Call::Wait => {
                    let held = rival.take().await;
                    let release = async {
                        face.until_waiting(&space, PATH, &client).await;
                        held.release().await.unwrap();
                    };
                    Ok(Some(tokio::join!(lock.take(), release).0))
                }
                Call::Release => lock.take().await.release().await.map(|()| None),
                Call::Downgrade => lock.take().await.downgrade().await.map(Some),
                Call::DropWriter => {
                    let writer = lock.take().await;
                    let reader = writer.scope(reader.lock()).await?;
                    drop(writer);
                    let is_lost = || matches!(reader.state(), LeaseState::Lost(_));
                    until(async || is_lost() || is_readers(&space).await, "it reads only").await;
                    // The answer to this comes after that to the downgrade.
                    reader.verify().await?;
                    Ok(Some(reader))
                }
            }
        }
    }

    async fn check_free(&self) {
        self.face.until_contending(self.space(), PATH, 0).await;
        self.rival().take().await.release().await.unwrap();
        self.face.until_contending(self.space(), PATH, 0).await;
        until(async || !self.space().is_watched_below(PATH), "no watch is left").await;
    }

    /// Checks that the lock is held once, and that the next waiter gets it.
    async fn check_held_and_hand_on(&self, guard: Held) {
        self.face.assert_held_once(self.space(), PATH).await;
        if matches!(guard, Held::Reader(_)) {
            assert!(is_readers(self.space()).await, "a writer's node stays after a downgrade");
        }
        let next = self.rival().spawn();
        self.face.until_contending(self.space(), PATH, 2).await;
        assert!(!next.is_finished());
        let token = guard.fencing_token();
        guard.release().await.unwrap();
        let next = soon(next).await.unwrap().unwrap();
        assert!(next.fencing_token() > token);
        next.release().await.unwrap();
    }
}

#[apply(every_lock_and_readers)]
async fn call_dropped_at_any_frame_leaves_no_node(
    face: Face,
    #[values(Call::LockNew, Call::Lock, Call::Try, Call::Wait, Call::Release)] call: Call,
    #[values(Frame::Request, Frame::Reply)] frame: Frame,
) {
    drop_at_any_frame(face, call, frame).await;
}

#[rstest::rstest]
#[tokio::test]
async fn downgrade_dropped_at_any_frame_leaves_no_node(
    #[values(Call::Downgrade, Call::DropWriter)] call: Call,
    #[values(Frame::Request, Frame::Reply)] frame: Frame,
) {
    drop_at_any_frame(Face::Writer, call, frame).await;
}

async fn drop_at_any_frame(face: Face, call: Call, frame: Frame) {
    let scene = Scene::new(face).await;
    let after = async || {
        scene.check_free().await;
        face.until_contending(scene.space(), &scene.new_path(), 0).await;
    };
    let frames = scene.of.drop_at_each(frame, || scene.start(call), after).await;
    assert!(frames >= call.least_frames(), "{frames}");
}

#[apply(every_lock_and_readers)]
async fn call_cut_off_at_any_frame_has_the_lock_once_and_hands_it_on(
    face: Face,
    #[values(Call::Lock, Call::Wait, Call::Release)] call: Call,
    #[values(Frame::Request, Frame::Reply)] frame: Frame,
    #[values(Meanwhile::Nothing, Meanwhile::SessionEnds)] meanwhile: Meanwhile,
    #[values(Caller::Stays, Caller::Leaves)] caller: Caller,
) {
    cut_at_any_frame(face, call, (frame, meanwhile, caller)).await;
}

#[rstest::rstest]
#[tokio::test]
async fn downgrade_cut_off_at_any_frame_has_the_lock_once_and_hands_it_on(
    #[values(Call::Downgrade, Call::DropWriter)] call: Call,
    #[values(Frame::Request, Frame::Reply)] frame: Frame,
    #[values(Meanwhile::Nothing, Meanwhile::SessionEnds)] meanwhile: Meanwhile,
    #[values(Caller::Stays, Caller::Leaves)] caller: Caller,
) {
    cut_at_any_frame(Face::Writer, call, (frame, meanwhile, caller)).await;
}

async fn cut_at_any_frame(face: Face, call: Call, break_: (Frame, Meanwhile, Caller)) {
    let scene = Scene::new(face).await;
    let is_lost = |error: LockError| {
        assert!(error.is_lost() && break_.1 == Meanwhile::SessionEnds, "{error}");
    };
    let after = async |outcome: Option<Outcome>| {
        match outcome {
            Some(Ok(Some(guard))) => match guard.verify().await {
                Ok(()) => scene.check_held_and_hand_on(guard).await,
                Err(error) => is_lost(error),
            },
            Some(Err(error)) => is_lost(error),
            Some(Ok(None)) | None => {}
        }
        scene.check_free().await;
    };
    let frames = scene.of.cut_at_each(break_, || scene.start(call), after).await;
    assert!(frames >= call.least_frames(), "{frames}");
}
