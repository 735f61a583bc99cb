//! No sequence of bytes may panic, hang or ask for more memory than it has bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/decoder/property.rs"]
mod property;

fuzz_target!(|input: &[u8]| property::check(input));
