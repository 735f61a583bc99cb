//! ACLs, and the identities that they are checked against: `PrepRequestProcessor.fixupACL`,
//! `ZooKeeperServer.checkACL` and the authentication providers.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::wire::{Acl, ClientInfo, ErrorCode, Id, permissions};

const WORLD: &str = "world";
const DIGEST: &str = "digest";
const IP: &str = "ip";
const AUTH: &str = "auth";
/// The scheme of the superuser, which no ACL can name.
const SUPER: &str = "super";
const ANYONE: &str = "anyone";

/// The identities of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Identities(Vec<Id>);

impl Identities {
    /// Returns the identities of a connection that has not authenticated: only its address.
    pub(super) fn of_address(address: IpAddr) -> Self {
        Self(vec![Id::new(IP, address.to_string())])
    }

    /// Adds the identities that the proof establishes, which are two if its digest is the superuser's.
    pub(super) fn add(
        &mut self,
        scheme: &str,
        proof: Option<&[u8]>,
        super_digest: Option<&str>,
    ) -> Result<(), ErrorCode> {
        let digest = match (scheme, proof) {
            (DIGEST, Some(proof)) => digest(proof),
            // The address of the connection is already one of its identities.
            (IP, _) => return Ok(()),
            _ => return Err(ErrorCode::AUTH_FAILED),
        };
        if super_digest == Some(&digest) {
            self.add_id(Id::new(SUPER, ""));
        }
        self.add_id(Id::new(DIGEST, digest));
        Ok(())
    }

    fn add_id(&mut self, id: Id) {
        if !self.0.contains(&id) {
            self.0.push(id);
        }
    }

    /// Returns the identities as `whoAmI` shows them, without the hashes of passwords.
    pub(super) fn infos(&self) -> Vec<ClientInfo> {
        let info = |id: &Id| ClientInfo {
            scheme: id.scheme.clone().unwrap_or_default(),
            user: user_of(id).to_owned(),
        };
        self.0.iter().map(info).collect()
    }

    /// Checks that the ACL grants one of the wanted permissions to one of these identities, or that the superuser
    /// is one of them.
    pub(super) fn may(&self, wanted: i32, acl: &[Acl]) -> Result<(), ErrorCode> {
        if self.0.iter().any(|id| id.scheme.as_deref() == Some(SUPER)) {
            return Ok(());
        }
        let allows = |line: &Acl| line.permissions & wanted != 0 && self.matches(&line.id);
        if acl.iter().any(allows) { Ok(()) } else { Err(ErrorCode::NO_AUTH) }
    }

    fn matches(&self, wanted: &Id) -> bool {
        if parts(wanted) == (Some(WORLD), Some(ANYONE)) {
            return true;
        }
        self.0.iter().filter(|id| id.scheme == wanted.scheme).any(|id| match parts(wanted) {
            (Some(IP), Some(allowed)) => {
                let address = id.id.as_deref().unwrap_or_default();
                Network::parse(allowed).is_some_and(|network| network.contains(address))
            }
            _ => id.id == wanted.id,
        })
    }

    /// Returns the ACL that a node gets for a requested one: without duplicates, and with `auth` replaced by
    /// the identities that were proven.
    pub(super) fn expand(&self, acl: &[Acl]) -> Result<Vec<Acl>, ErrorCode> {
        let mut expanded = Vec::new();
        for line in without_duplicates(acl)? {
            expanded.extend(self.expand_line(line)?);
        }
        if expanded.is_empty() { Err(ErrorCode::INVALID_ACL) } else { Ok(expanded) }
    }

    fn expand_line(&self, line: &Acl) -> Result<Vec<Acl>, ErrorCode> {
        let proven = || self.0.iter().filter(|id| id.scheme.as_deref() == Some(DIGEST));
        match parts(&line.id) {
            (Some(AUTH), _) if proven().next().is_some() => {
                Ok(proven().map(|id| Acl::new(line.permissions, id.clone())).collect())
            }
            (Some(WORLD | DIGEST | IP), None) => Err(ErrorCode::MARSHALLING_ERROR),
            (Some(WORLD), Some(ANYONE)) => Ok(vec![line.clone()]),
            (Some(DIGEST), Some(id)) if is_digest(id) => Ok(vec![line.clone()]),
            (Some(IP), Some(id)) if Network::parse(id).is_some() => Ok(vec![line.clone()]),
            _ => Err(ErrorCode::INVALID_ACL),
        }
    }

    /// Returns the ACL as these identities may see it: with hashes of passwords only if they may replace it.
    pub(super) fn shown(&self, acl: &[Acl]) -> Vec<Acl> {
        let hidden = |line: &Acl| match line.id.scheme.as_deref() {
            Some(DIGEST) => Acl::new(line.permissions, Id::new(DIGEST, format!("{}:x", user_of(&line.id)))),
            _ => line.clone(),
        };
        match self.may(permissions::ADMIN, acl) {
            Ok(()) => acl.to_vec(),
            Err(_) => acl.iter().map(hidden).collect(),
        }
    }
}

/// Returns the scheme and the id.
fn parts(id: &Id) -> (Option<&str>, Option<&str>) {
    (id.scheme.as_deref(), id.id.as_deref())
}

fn user_of(id: &Id) -> &str {
    match parts(id) {
        (Some(DIGEST), Some(id)) => id.split(':').next().unwrap_or_default(),
        (_, id) => id.unwrap_or_default(),
    }
}

/// Returns the lines without repetitions: `PrepRequestProcessor.removeDuplicates`.
fn without_duplicates(acl: &[Acl]) -> Result<Vec<&Acl>, ErrorCode> {
    let mut kept: Vec<&Acl> = Vec::new();
    for line in acl {
        let mut is_new = true;
        for earlier in &kept {
            is_new = is_new && !is_same(line, earlier)?;
        }
        if is_new {
            kept.push(line);
        }
    }
    Ok(kept)
}

/// Compares two lines as `ACL.equals` does, which fails at a null scheme or id that it comes to.
fn is_same(line: &Acl, earlier: &Acl) -> Result<bool, ErrorCode> {
    if line.permissions != earlier.permissions {
        return Ok(false);
    }
    let scheme = line.id.scheme.as_ref().ok_or(ErrorCode::MARSHALLING_ERROR)?;
    if earlier.id.scheme.as_ref() != Some(scheme) {
        return Ok(false);
    }
    let id = line.id.id.as_ref().ok_or(ErrorCode::MARSHALLING_ERROR)?;
    Ok(earlier.id.id.as_ref() == Some(id))
}

/// Returns whether an id is a user and a hash, ignoring trailing colons because Java's `split(":")` drops
/// empty parts at the end.
fn is_digest(id: &str) -> bool {
    id.trim_end_matches(':').split(':').count() == 2
}

/// Returns `user:base64(sha1(user:password))`: `DigestAuthenticationProvider.generateDigest`.
fn digest(proof: &[u8]) -> String {
    let proof = String::from_utf8_lossy(proof);
    let user = proof.split(':').next().unwrap_or_default();
    format!("{user}:{}", STANDARD.encode(Sha1::digest(proof.as_bytes())))
}

/// An IP address, or all addresses with the same leading bits.
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            None => (text, None),
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = bits.unwrap_or_else(|| width(address));
        (bits <= width(address)).then_some(Self { address, bits })
    }

    fn contains(&self, address: &str) -> bool {
        let Ok(address) = address.parse::<IpAddr>() else {
            return false;
        };
        width(address) == width(self.address) && self.prefix(address) == self.prefix(self.address)
    }

    fn prefix(&self, address: IpAddr) -> Option<u128> {
        let value = match address {
            IpAddr::V4(address) => u32::from(address).into(),
            IpAddr::V6(address) => address.into(),
        };
        u128::checked_shr(value, width(address) - self.bits)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}
