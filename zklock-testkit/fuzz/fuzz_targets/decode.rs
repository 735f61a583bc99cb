//! No sequence of bytes may make the decoder or the model panic, hang or ask for much memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/decoder/property.rs"]
mod property;

fuzz_target!(|input: &[u8]| property::check(input));
