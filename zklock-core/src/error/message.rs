//! The parts of messages that depend on what is known.

use super::holder::Holder;
use super::permission::Permission;

pub(super) fn behind(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(": {holder}")).unwrap_or_default()
}

pub(super) fn not_installed(name: Option<&str>, path: Option<&str>) -> String {
    let lock = path.map(|path| format!(" to lock {path}")).unwrap_or_default();
    match name {
        Some(name) => {
            format!(
                "no client is installed as {name:?}{lock}: call `zklock::install_as` at start-up, or \
                 `TestServer::client_as` in a `#[zklock::test]`"
            )
        }
        None => format!(
            "no client is installed{lock}: call `zklock::install` at start-up; a test that is a `#[zklock::test]` \
             has one"
        ),
    }
}

pub(super) fn closed(path: &str) -> String {
    match path {
        "" => "the client is closed".to_owned(),
        path => format!("cannot use lock {path}: the client is closed"),
    }
}

pub(super) fn already_installed(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("a client is already installed as {name:?}"),
        None => "a client is already installed".to_owned(),
    }
}

/// Returns the part of a message that names a permission.
pub(super) fn lacking(permission: Option<Permission>) -> String {
    permission.map_or_else(String::new, |permission| format!(": this client may not {permission} there"))
}
