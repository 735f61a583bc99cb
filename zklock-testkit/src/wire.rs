//! ZooKeeper's client protocol: frames of records in the jute encoding.
//!
//! Every frame is a length (four bytes, big-endian) and a body. The first body of a connection is a
//! [`ConnectRequest`], answered by a [`ConnectResponse`]; after that a client sends a [`RequestHeader`] and a
//! [`Request`], and a server a [`ReplyHeader`] and a [`Response`], or a [`WatchEvent`]. The layout of the
//! records is that of `zookeeper.jute` and the opcodes those of `ZooDefs.OpCode`, both in ZooKeeper's source.

mod code;
mod connect;
mod frame;
mod jute;
mod multi;
mod parts;
mod record;
mod request;
mod response;

pub use code::{ErrorCode, Opcode};
pub use connect::{ConnectRequest, ConnectResponse};
pub use frame::{Frames, MAX_FRAME, frames};
pub use jute::{Malformed, Reader, Record, Writer};
pub use multi::{Op, OpResult};
pub use parts::{
    AddWatch, CheckVersion, Create, CreateFlags, Delete, SetAcl, SetData, SetWatches, WatcherType,
};
pub use record::{
    Acl, ClientInfo, EventType, Id, ReplyHeader, RequestHeader, Stat, WatchEvent, permissions, xid,
};
pub use request::Request;
pub use response::Response;
