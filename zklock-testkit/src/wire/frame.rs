use tokio_util::codec::LengthDelimitedCodec;

/// The most bytes that a server accepts in one frame: `jute.maxbuffer`'s default, 1 MiB less one.
pub const MAX_FRAME: usize = 0xf_ffff;

/// Cuts a stream of bytes into frames, and puts the length in front of each that is sent.
pub type Frames = LengthDelimitedCodec;

/// Gives the framing of a connection that accepts frames of at most so many bytes.
///
/// A negative length is refused like one that is too great.
pub fn frames(max: usize) -> Frames {
    LengthDelimitedCodec::builder().big_endian().length_field_length(4).max_frame_length(max).new_codec()
}
