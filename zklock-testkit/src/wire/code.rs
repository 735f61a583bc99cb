use std::fmt;

/// What a request asks for: `ZooDefs.OpCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub i32);

/// Names numbers of the protocol, and prints them by these names.
macro_rules! named {
    ($type:ident { $($(#[$doc:meta])* $name:ident = $value:literal,)* }) => {
        impl $type {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The name of the number, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }
    };
}

named!(Opcode {
    /// Creates a node and tells its path.
    CREATE = 1,
    /// Deletes a node.
    DELETE = 2,
    /// Tells the stat of a node.
    EXISTS = 3,
    /// Tells the data of a node.
    GET_DATA = 4,
    /// Replaces the data of a node.
    SET_DATA = 5,
    /// Tells who may do what with a node.
    GET_ACL = 6,
    /// Replaces who may do what with a node.
    SET_ACL = 7,
    /// Tells the names of a node's children.
    GET_CHILDREN = 8,
    /// Waits until the server has seen all that the leader had.
    SYNC = 9,
    /// Keeps a session alive.
    PING = 11,
    /// Tells the names of a node's children and its stat.
    GET_CHILDREN2 = 12,
    /// Checks the version of a node, within a multi.
    CHECK = 13,
    /// Does several writes, or none.
    MULTI = 14,
    /// Creates a node and tells its path and its stat.
    CREATE2 = 15,
    /// Changes the ensemble.
    RECONFIG = 16,
    /// Tells whether a watch is set.
    CHECK_WATCHES = 17,
    /// Removes watches.
    REMOVE_WATCHES = 18,
    /// Creates a container.
    CREATE_CONTAINER = 19,
    /// Deletes a container; servers send it to themselves.
    DELETE_CONTAINER = 20,
    /// Creates a node with a time to live.
    CREATE_TTL = 21,
    /// Does several reads.
    MULTI_READ = 22,
    /// Adds an identity to a connection.
    AUTH = 100,
    /// Sets watches again after a reconnect.
    SET_WATCHES = 101,
    /// Authenticates with SASL.
    SASL = 102,
    /// Tells the ephemeral nodes of the session.
    GET_EPHEMERALS = 103,
    /// Counts all nodes below one.
    GET_ALL_CHILDREN_NUMBER = 104,
    /// Sets watches again after a reconnect, persistent ones included.
    SET_WATCHES2 = 105,
    /// Sets a persistent watch.
    ADD_WATCH = 106,
    /// Tells the identities of a connection.
    WHO_AM_I = 107,
    /// Opens a session. Used by this crate for the first frame of a connection.
    CREATE_SESSION = -10,
    /// Ends the session.
    CLOSE_SESSION = -11,
    /// Stands for a failed operation in the answer to a multi, and ends a list of operations.
    ERROR = -1,
});

/// Why a request failed: `KeeperException.Code`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i32);

named!(ErrorCode {
    /// It did not fail.
    OK = 0,
    /// An operation of a multi was not tried, because another one failed.
    RUNTIME_INCONSISTENCY = -2,
    /// The request cannot be decoded.
    MARSHALLING_ERROR = -5,
    /// The server does not know the request.
    UNIMPLEMENTED = -6,
    /// An argument is not possible.
    BAD_ARGUMENTS = -8,
    /// There is no such node.
    NO_NODE = -101,
    /// The ACL of a node does not allow it.
    NO_AUTH = -102,
    /// The node has another version.
    BAD_VERSION = -103,
    /// Ephemeral nodes have no children.
    NO_CHILDREN_FOR_EPHEMERALS = -108,
    /// There is such a node already.
    NODE_EXISTS = -110,
    /// The node has children.
    NOT_EMPTY = -111,
    /// The session has ended.
    SESSION_EXPIRED = -112,
    /// The ACL is empty, or names what there is not.
    INVALID_ACL = -114,
    /// The identity was not believed.
    AUTH_FAILED = -115,
    /// The session is attached to another connection.
    SESSION_MOVED = -118,
    /// There is no such watch.
    NO_WATCHER = -121,
    /// The ensemble may not be changed.
    RECONFIG_DISABLED = -123,
});

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ErrorCode {}
