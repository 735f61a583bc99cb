//! The access control list of nodes, as users configure it.

use crate::connection::security::{AuthId, Entry, NodeAcl, Permission};

/// The access control list (ACL) of nodes that a client creates: the nodes of locks and those of contenders
/// ([`Config::acl`](crate::Config::acl)), and the parents above them
/// ([`Config::parent_acl`](crate::Config::parent_acl)).
///
/// ZooKeeper checks each request against the list of one node (*ZooKeeper access control using ACLs* in its
/// Programmer's Guide). A client that may not do what a call needs gets [`LockError::Denied`](crate::LockError::Denied)
/// with the [`Permission`](crate::Permission).
///
/// | call | permissions |
/// |---|---|
/// | take and release a lock, lead | `c`, `d` and `r` on the lock's node, and `r` on those of contenders |
/// | take permits of a semaphore, `exclusive` | the same on its two queues, and `r` on its node, with `w` to state the number; `r` on the node of a shared number |
/// | list participants, survey | `r` on the lock's node and on those of contenders |
/// | ask a holder to release | `w` on the nodes of contenders |
/// | take a lock away | `d` on the lock's node |
/// | write under a lock | `w`, `c` or `d` as for any write, and `r` on the node of the holder |
/// | create a missing lock | `c` on the nearest parent that exists |
///
/// The node of a lock that was created with one list keeps it. Clients with other lists need not agree, but each of them
/// needs the permissions of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acl {
    /// Any client may do anything: ZooKeeper's `world:anyone:cdrwa`.
    #[default]
    Open,
    /// Only clients that authenticate as one of the same users may do anything: ZooKeeper's `auth::cdrwa`. They prove it
    /// by a digest, by a login, or by a client certificate.
    CreatorAll,
    /// The entries `scheme:id:permissions`, such as `sasl:billing:cdrwa`, `world:anyone:r` or `auth::cdrwa`.
    ///
    /// The permissions are some of `c`reate, `d`elete, `r`ead, `w`rite and `a`dmin. The id of the scheme `digest` is
    /// `user:hash`, and not the password. That of `x509` is the subject of a certificate.
    Entries(Vec<String>),
}

impl Acl {
    /// Returns a list with these entries, each `scheme:id:permissions`.
    pub fn entries<E: Into<String>>(entries: impl IntoIterator<Item = E>) -> Self {
        Self::Entries(entries.into_iter().map(Into::into).collect())
    }

    /// Reads `open`, `creator_all`, or entries with `;` between them. The subject of a certificate has commas.
    pub(crate) fn of_text(text: &str) -> Self {
        match text {
            "open" => Self::Open,
            "creator_all" => Self::CreatorAll,
            entries => Self::entries(entries.split(';').map(str::trim)),
        }
    }

    /// Checks the entries. The error names one by its number, because a wrong one may have a password.
    pub(crate) fn checked(&self) -> Result<NodeAcl, String> {
        let acls = match self {
            Self::Open => vec![Entry::new(Permission::ALL, AuthId::anyone())],
            Self::CreatorAll => vec![Entry::new(Permission::ALL, AuthId::authed())],
            Self::Entries(entries) if entries.is_empty() => return Err("it has no entry".to_owned()),
            Self::Entries(entries) => {
                let parsed = entries.iter().enumerate().map(|(index, entry)| {
                    entry_of(entry).map_err(|reason| format!("entry {} {reason}", index + 1))
                });
                parsed.collect::<Result<_, _>>()?
            }
        };
        Ok(NodeAcl::new(acls))
    }

    /// Tells whether an entry means the users that the client authenticates as.
    pub(crate) fn needs_user(&self) -> bool {
        match self {
            Self::Open => false,
            Self::CreatorAll => true,
            Self::Entries(entries) => entries.iter().any(|entry| entry.starts_with("auth:")),
        }
    }
}

/// Reads a text, or a list of entries. The error shows none of them.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Acl {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "an access control list must be a text or a list of entries")]
        enum Given {
            Text(String),
            Entries(Vec<String>),
        }

        Ok(match Given::deserialize(from)? {
            Given::Text(text) => Self::of_text(&text),
            Given::Entries(entries) => Self::Entries(entries),
        })
    }
}

fn entry_of(entry: &str) -> Result<Entry, &'static str> {
    let parts = entry.split_once(':').and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once(':')?)));
    let (scheme, (id, letters)) = parts.ok_or("is not `scheme:id:permissions`")?;
    match (scheme, id) {
        ("world", "anyone") | ("auth", "") => {}
        ("world", _) => return Err("has another id than `anyone`"),
        ("auth", _) => return Err("has an id, although `auth` means that of the client"),
        ("digest", id) if !is_hashed(id) => return Err("needs `user:hash` as its id, as ZooKeeper shows it"),
        ("", _) | (_, "") => return Err("has no scheme or no id"),
        _ => {}
    }
    Ok(Entry::new(permissions(letters)?, AuthId::new(scheme, id)))
}

fn permissions(letters: &str) -> Result<Permission, &'static str> {
    let mut permissions = Permission::NONE;
    for letter in letters.chars() {
        permissions = permissions
            | match letter {
                'c' => Permission::CREATE,
                'd' => Permission::DELETE,
                'r' => Permission::READ,
                'w' => Permission::WRITE,
                'a' => Permission::ADMIN,
                _ => return Err("has permissions other than some of `cdrwa`"),
            };
    }
    if permissions == Permission::NONE { Err("has no permissions") } else { Ok(permissions) }
}

/// Tells whether this is a user with a SHA-1 in Base64.
fn is_hashed(id: &str) -> bool {
    let hash = id.split_once(':').map_or("", |(_, hash)| hash);
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    hash.len() == 28 && hash.strip_suffix('=').is_some_and(|digits| digits.chars().all(is_base64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_zookeepers_own_client() {
        let hash = "user:smGaoVKd/cQkjm7b88GyorAUz20=";
        let acl = Acl::entries([
            "world:anyone:r",
            "auth::cdrwa",
            "sasl:billing@EXAMPLE:crd",
            "x509:CN=a b,OU=c:w",
            &format!("digest:{hash}:a"),
        ]);
        let checked = acl.checked().unwrap();
        let known = |permission, scheme, id| Entry::new(permission, AuthId::new(scheme, id));
        use Permission as P;
        assert_eq!(
            checked,
            NodeAcl::new(vec![
                known(P::READ, "world", "anyone"),
                known(P::ALL, "auth", ""),
                known(P::CREATE | P::READ | P::DELETE, "sasl", "billing@EXAMPLE"),
                known(P::WRITE, "x509", "CN=a b,OU=c"),
                known(P::ADMIN, "digest", hash),
            ])
        );
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_list_is_read_from_a_text_or_a_list_and_not_shown_in_errors() {
        let read = |text: &str| serde_json::from_str::<Acl>(text);
        assert_eq!(read(r#""creator_all""#).unwrap(), Acl::CreatorAll);
        let entries = Acl::entries(["sasl:a:r", "world:anyone:r"]);
        assert_eq!(read(r#""sasl:a:r; world:anyone:r""#).unwrap(), entries);
        assert_eq!(read(r#"["sasl:a:r", "world:anyone:r"]"#).unwrap(), entries);
        let error = read(r#"{"digest": "user:secret"}"#).unwrap_err().to_string();
        assert!(error.contains("must be a text") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn a_wrong_entry_is_known_by_its_number_and_not_shown() {
        for (entry, reason) in [
            ("secret", "is not `scheme:id:permissions`"),
            ("world:anyone", "is not `scheme:id:permissions`"),
            ("world:secret:r", "has another id than `anyone`"),
            ("auth:secret:r", "has an id, although `auth` means that of the client"),
            ("digest:user:secret:r", "needs `user:hash` as its id, as ZooKeeper shows it"),
            ("sasl::r", "has no scheme or no id"),
            (":secret:r", "has no scheme or no id"),
            ("sasl:secret:", "has no permissions"),
            ("sasl:secret:rx", "has permissions other than some of `cdrwa`"),
        ] {
            let error = Acl::entries(["world:anyone:r", entry]).checked().unwrap_err();
            assert_eq!(error, format!("entry 2 {reason}"));
        }
        assert_eq!(Acl::entries::<&str>([]).checked().unwrap_err(), "it has no entry");
    }
}
