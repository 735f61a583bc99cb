//! The decoder of the protocol, with frames of real clients and servers and with randomly damaged ones.

mod property;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use property::{Kind, check, frames, read_request, round_trip};
use zklock_testkit::wire::{ConnectRequest, ConnectResponse, Record, Request};

/// The inputs that the fuzzer starts from: frames of kazoo, of zklock and of a real server, recorded on the
/// wire.
static CORPUS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decoder/corpus");
    let entries = fs::read_dir(directory).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("it can be read")).collect()
});

/// Returns the frames of the corpus, with connections split into their frames.
fn real_frames() -> Vec<(Kind, Bytes)> {
    let mut all = Vec::new();
    for input in CORPUS.iter() {
        match Kind::of(input[0]) {
            Kind::Connection => all.extend(frames(&input[1..]).map(|frame| (Kind::Request, frame))),
            kind => all.push((kind, Bytes::copy_from_slice(&input[1..]))),
        }
    }
    all
}

/// Returns whether the frame is a request whose content is not decoded, so that any content is valid.
fn is_opaque(kind: Kind, frame: &Bytes) -> bool {
    let decoded = (kind == Kind::Request).then(|| read_request(frame.clone()));
    matches!(decoded, Some(Ok((_, Request::Unknown { .. }))))
}

/// Returns whether the frame is a greeting with the last byte, which old clients and servers leave out.
fn says_read_only(kind: Kind, frame: &Bytes) -> bool {
    let frame = frame.clone();
    match kind {
        Kind::ConnectRequest => ConnectRequest::from_bytes(frame).is_ok_and(|all| all.read_only.is_some()),
        Kind::ConnectResponse => ConnectResponse::from_bytes(frame).is_ok_and(|all| all.read_only.is_some()),
        _ => false,
    }
}

#[test]
fn real_frames_are_decoded_and_encoded_again_byte_by_byte() {
    let mut seen = [0; 4];
    for (kind, frame) in real_frames() {
        assert_eq!(round_trip(kind, &frame).as_ref(), Ok(&frame), "{kind:?}");
        seen[kind as usize] += 1;
    }
    assert!(seen.iter().all(|&count| count > 0), "the corpus has frames of each kind: {seen:?}");
}

#[test]
fn a_part_of_a_real_frame_is_refused() {
    for (kind, frame) in real_frames() {
        for end in 0..frame.len() {
            let part = frame.slice(..end);
            if is_opaque(kind, &part) || says_read_only(kind, &frame) && end + 1 == frame.len() {
                assert_eq!(round_trip(kind, &part).as_ref(), Ok(&part), "{kind:?} cut to {end}");
            } else {
                assert!(round_trip(kind, &part).is_err(), "{kind:?} {frame:?} cut to {end}");
            }
        }
    }
}

#[test]
fn bytes_behind_a_real_frame_are_ignored_in_a_request_and_refused_elsewhere() {
    for (kind, frame) in real_frames() {
        let longer = Bytes::from([&frame, &[0; 8][..]].concat());
        match kind {
            Kind::Request if is_opaque(kind, &frame) => {}
            Kind::Request => assert_eq!(round_trip(kind, &longer).as_ref(), Ok(&frame)),
            _ => assert!(round_trip(kind, &longer).is_err(), "{kind:?} {frame:?}"),
        }
    }
}

/// A change of an input: bytes from a place on are replaced by others, which may be a length that is wrong.
#[derive(Clone, Debug)]
struct Damage {
    at: Index,
    removed: usize,
    added: Vec<u8>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let lengths = prop_oneof![any::<i32>(), Just(-1), Just(i32::MAX), Just(i32::MIN), 0..64];
    let length = (Just(4), lengths.prop_map(|length| length.to_be_bytes().to_vec()));
    let byte = (0..=1_usize, vec(any::<u8>(), 0..=1));
    let end = (Just(usize::MAX), Just(Vec::new()));
    let change = prop_oneof![byte, length, end];
    (any::<Index>(), change).prop_map(|(at, (removed, added))| Damage { at, removed, added })
}

fn apply(input: &mut Vec<u8>, Damage { at, removed, added }: &Damage) {
    if !input.is_empty() {
        let at = at.index(input.len());
        let end = at.saturating_add(*removed).min(input.len());
        input.splice(at..end, added.iter().copied());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused_or_understood(input in vec(any::<u8>(), 0..200)) {
        check(&input);
    }

    #[test]
    fn damaged_frames_are_refused_or_understood(which in any::<Index>(), damages in vec(damage(), 1..4)) {
        let mut input = which.get(&CORPUS).clone();
        damages.iter().for_each(|damage| apply(&mut input, damage));
        check(&input);
    }
}
