//! The division of a stream of bytes into frames.

use tokio_util::codec::LengthDelimitedCodec;

/// The largest frame that a server accepts, in bytes: the default of `jute.maxbuffer`, 1 MiB less one.
pub const MAX_FRAME: usize = 0xf_ffff;

/// The codec that splits a stream of bytes into frames, and puts the length in front of each frame sent.
pub type Frames = LengthDelimitedCodec;

/// Creates the codec of a connection that accepts frames of at most `max` bytes.
///
/// A negative length is refused like one that is too large.
pub fn frames(max: usize) -> Frames {
    LengthDelimitedCodec::builder().big_endian().length_field_length(4).max_frame_length(max).new_codec()
}
