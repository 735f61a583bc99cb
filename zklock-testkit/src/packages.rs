//! The names of the Debian packages that hold ZooKeeper, Curator and Java.
//!
//! This module uses no other module of the crate.

/// The `zookeeper` package would add only scripts for a system service, and a graphical Java runtime.
pub(crate) const SERVER_PACKAGE: &str = "libzookeeper-java";

/// It depends on the client's and the framework's packages, and on the server's.
pub(crate) const CURATOR_PACKAGE: &str = "libcurator-recipes-java";

/// The server's package does not depend on any Java runtime.
pub(crate) const JAVA_PACKAGE: &str = "default-jdk-headless";
