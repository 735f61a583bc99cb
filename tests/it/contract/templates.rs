//! The locks with which the tables run.

use rstest_reuse::template;

// Runs a test for each lock that excludes all others.
#[template]
#[rstest::rstest]
pub(super) fn every_lock(
    #[values(
        Face::Mutex,
        Face::Exclusive,
        Face::Writer,
        Face::Semaphore,
        Face::Permits,
        Face::Multi,
        Face::Leader
    )]
    face: Face,
) {
}

// Runs a test for each lock, and for the one that readers share.
#[template]
#[rstest::rstest]
#[tokio::test]
pub(super) fn every_lock_and_readers(
    #[values(
        Face::Mutex,
        Face::Exclusive,
        Face::Reader,
        Face::Writer,
        Face::Semaphore,
        Face::Permits,
        Face::Multi,
        Face::Leader
    )]
    face: Face,
) {
}

// Runs a test for each lock that a call may enter again, and for the one that readers share.
#[template]
#[rstest::rstest]
#[tokio::test]
pub(super) fn every_reentrant_lock(
    #[values(Face::Mutex, Face::Reader, Face::Writer, Face::Multi)] face: Face,
) {
}

// Runs a test for each lock that a client passes on from one of its calls to the next.
#[template]
#[rstest::rstest]
#[tokio::test]
pub(super) fn every_passed_lock(
    #[values(Face::Mutex, Face::Exclusive, Face::Writer, Face::Semaphore)] face: Face,
) {
}
