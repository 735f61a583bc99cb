//! The decoder of the protocol, with frames of real clients and servers and with what random damage makes of them.

mod property;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use property::{Kind, check, round_trip};

/// The inputs that the fuzzer starts from: frames of kazoo, of zklock and of a real server, recorded between them.
fn corpus() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/decode");
    let entries = fs::read_dir(directory).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("it can be read")).collect()
}

#[test]
fn real_frames_are_decoded_and_encoded_again_byte_by_byte() {
    let kinds = [Kind::ConnectRequest, Kind::Request, Kind::ConnectResponse, Kind::Reply];
    let mut seen = [0; 4];
    for input in corpus() {
        let (kind, frame) = (usize::from(input[0]), Bytes::copy_from_slice(&input[1..]));
        if let Some(&kind) = kinds.get(kind) {
            assert_eq!(round_trip(kind, &frame).as_ref(), Ok(&frame), "{kind:?} {input:?}");
            seen[kind as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "the corpus has frames of each kind: {seen:?}");
}

#[test]
fn what_ends_within_a_real_frame_is_refused() {
    let kinds = [Kind::ConnectRequest, Kind::Request, Kind::ConnectResponse, Kind::Reply];
    for input in corpus() {
        let Some(&kind) = kinds.get(usize::from(input[0])) else {
            continue;
        };
        for end in 1..input.len() {
            let frame = Bytes::copy_from_slice(&input[1..end]);
            // A shorter record can be one, too: the last field of some is optional.
            if let Ok(encoded) = round_trip(kind, &frame) {
                assert_eq!(encoded, frame, "{kind:?} cut to {end}");
            }
        }
    }
}

/// One change of an input.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Truncate(Index),
    /// A length that is not true, negative or huge.
    Overwrite(Index, i32),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), prop_oneof![any::<i32>(), Just(-1), Just(i32::MAX), Just(i32::MIN), 0..64])
            .prop_map(|(at, length)| Damage::Overwrite(at, length)),
    ]
}

fn apply(input: &mut Vec<u8>, damage: &Damage) {
    if input.is_empty() {
        return;
    }
    match damage {
        Damage::Replace(at, byte) => {
            let at = at.index(input.len());
            input[at] = *byte;
        }
        Damage::Insert(at, byte) => {
            let at = at.index(input.len());
            input.insert(at, *byte);
        }
        Damage::Remove(at) => {
            let at = at.index(input.len());
            input.remove(at);
        }
        Damage::Truncate(at) => input.truncate(at.index(input.len())),
        Damage::Overwrite(at, length) => {
            let at = at.index(input.len());
            let end = (at + 4).min(input.len());
            input[at..end].copy_from_slice(&length.to_be_bytes()[..end - at]);
        }
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
        let mut input = which.get(&corpus()).clone();
        damages.iter().for_each(|damage| apply(&mut input, damage));
        check(&input);
    }
}
