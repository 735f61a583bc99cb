//! The opcodes and error codes of the protocol.

use std::fmt;

use super::jute::records;
use super::{Malformed, Reader, Record, Writer};

/// The operation that a request asks for: `ZooDefs.OpCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub i32);

/// Defines named constants for a type of number, and displays the numbers by these names.
macro_rules! named {
    ($type:ident { $($(#[$doc:meta])* $name:ident = $value:literal,)* }) => {
        impl $type {
            $($(#[$doc])* pub const $name: Self = Self($value);)*
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str(stringify!($name)),)*
                    Self(number) => write!(f, "{number}"),
                }
            }
        }
    };
}

named!(Opcode {
    /// Creates a node and returns its path.
    CREATE = 1,
    /// Deletes a node.
    DELETE = 2,
    /// Returns the stat of a node.
    EXISTS = 3,
    /// Returns the data of a node.
    GET_DATA = 4,
    /// Replaces the data of a node.
    SET_DATA = 5,
    /// Returns the ACL of a node.
    GET_ACL = 6,
    /// Replaces the ACL of a node.
    SET_ACL = 7,
    /// Returns the names of a node's children.
    GET_CHILDREN = 8,
    /// Waits until the server has caught up with the leader.
    SYNC = 9,
    /// Keeps a session alive.
    PING = 11,
    /// Returns the names of a node's children, and the node's stat.
    GET_CHILDREN2 = 12,
    /// Checks the version of a node, within a multi.
    CHECK = 13,
    /// Applies several writes atomically.
    MULTI = 14,
    /// Creates a node and returns its path and stat.
    CREATE2 = 15,
    /// Changes the configuration of the ensemble.
    RECONFIG = 16,
    /// Checks whether a watch is set.
    CHECK_WATCHES = 17,
    /// Removes watches.
    REMOVE_WATCHES = 18,
    /// Creates a container.
    CREATE_CONTAINER = 19,
    /// Deletes a container. A server sends this request to itself, and accepts it from a client.
    DELETE_CONTAINER = 20,
    /// Creates a node with a time to live.
    CREATE_TTL = 21,
    /// Performs several reads.
    MULTI_READ = 22,
    /// Adds an identity to a connection.
    AUTH = 100,
    /// Sets watches again after a reconnect.
    SET_WATCHES = 101,
    /// Authenticates with SASL.
    SASL = 102,
    /// Returns the ephemeral nodes of the session.
    GET_EPHEMERALS = 103,
    /// Counts the descendants of a node.
    GET_ALL_CHILDREN_NUMBER = 104,
    /// Sets watches again after a reconnect, persistent ones included.
    SET_WATCHES2 = 105,
    /// Sets a persistent watch.
    ADD_WATCH = 106,
    /// Returns the identities of a connection.
    WHO_AM_I = 107,
    /// Opens a session. In the rules and the counts of a proxy it stands for the first frame of a connection.
    CREATE_SESSION = -10,
    /// Ends the session.
    CLOSE_SESSION = -11,
    /// Marks a failed operation in the answer to a multi, and the end of a list of operations.
    ERROR = -1,
});

/// The reason why a request failed: `KeeperException.Code`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i32);

named!(ErrorCode {
    /// The request did not fail.
    OK = 0,
    /// An operation of a multi was not attempted because another one failed.
    RUNTIME_INCONSISTENCY = -2,
    /// The request cannot be decoded.
    MARSHALLING_ERROR = -5,
    /// The server does not know the request.
    UNIMPLEMENTED = -6,
    /// An argument is invalid.
    BAD_ARGUMENTS = -8,
    /// The node does not exist.
    NO_NODE = -101,
    /// The ACL of a node does not allow the request.
    NO_AUTH = -102,
    /// The node has a different version.
    BAD_VERSION = -103,
    /// The parent is an ephemeral node, which cannot have children.
    NO_CHILDREN_FOR_EPHEMERALS = -108,
    /// The node already exists.
    NODE_EXISTS = -110,
    /// The node has children.
    NOT_EMPTY = -111,
    /// The session has ended.
    SESSION_EXPIRED = -112,
    /// The ACL is empty, or one of its lines is invalid.
    INVALID_ACL = -114,
    /// The authentication failed.
    AUTH_FAILED = -115,
    /// The session is attached to another connection.
    SESSION_MOVED = -118,
    /// The watch does not exist.
    NO_WATCHER = -121,
    /// Changing the configuration of the ensemble is disabled.
    RECONFIG_DISABLED = -123,
});

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ErrorCode {}

records!(Opcode { 0 } ErrorCode { 0 });
