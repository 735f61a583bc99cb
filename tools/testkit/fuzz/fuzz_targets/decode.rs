//! Fuzzes the decoder and the model, which no input may make panic, hang or allocate much memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/decoder/property.rs"]
mod property;

fuzz_target!(|input: &[u8]| property::check(input));
