//! ZooKeeper's client protocol: frames of records in the jute encoding.
//!
//! Every frame consists of a length (four bytes, big-endian) and a body. The first body of a connection is a
//! [`ConnectRequest`], answered by a [`ConnectResponse`]. After that, each body from the client is a
//! [`RequestHeader`] and a [`Request`], and each body from the server is a [`ReplyHeader`] and a [`Response`]
//! or a [`WatchEvent`]. The layout of the records is that of `zookeeper.jute`, and the opcodes are those of
//! `ZooDefs.OpCode`, both in ZooKeeper's source.

mod code;
#[allow(missing_docs, reason = "the names of most fields say all")]
mod jute;
mod multi;
#[allow(missing_docs, reason = "the names of most fields say all")]
mod record;
#[allow(missing_docs, reason = "the names of most fields say all")]
mod request;
#[allow(missing_docs, reason = "the names of most fields say all")]
mod response;

pub use code::{ErrorCode, Opcode};
pub use jute::{Malformed, Reader, Record, Writer};
pub use multi::{Op, OpResult};
pub use record::{
    Acl, AddWatch, CheckVersion, ClientInfo, ConnectRequest, ConnectResponse, Create, CreateFlags, Delete,
    EventType, Id, ReplyHeader, RequestHeader, SetAcl, SetData, SetWatches, Stat, WatchEvent, WatcherType,
    permissions, xid,
};
pub use request::Request;
pub use response::Response;

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
