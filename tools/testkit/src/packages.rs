//! The names of the Debian packages that contain ZooKeeper, Curator, Java, PostgreSQL, Kerberos and promtool.
//!
//! This module may use no other module of the crate.

/// The package with ZooKeeper's jars.
///
/// The `zookeeper` package would only add scripts for a system service and a graphical Java runtime.
pub(crate) const SERVER_PACKAGE: &str = "libzookeeper-java";

/// The package with Curator's jars, which depends on the packages of its client and framework, and on
/// [`SERVER_PACKAGE`].
pub(crate) const CURATOR_PACKAGE: &str = "libcurator-recipes-java";

/// The package with Java, needed because [`SERVER_PACKAGE`] depends on no Java runtime.
pub(crate) const JAVA_PACKAGE: &str = "default-jdk-headless";

/// The package with PostgreSQL's server, which depends on the latest version of the distribution.
pub(crate) const POSTGRESQL_PACKAGE: &str = "postgresql";

/// The packages with the programs of Kerberos: of the key distribution center, of its administrators, and of users.
pub(crate) const KERBEROS_PACKAGES: [&str; 3] = ["krb5-kdc", "krb5-admin-server", "krb5-user"];

/// The package with `promtool`, which also contains the server of Prometheus.
pub(crate) const PROMETHEUS_PACKAGE: &str = "prometheus";
