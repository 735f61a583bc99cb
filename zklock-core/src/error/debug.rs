//! The text of an error for developers, such as that of a failed test: the message, and then all fields.

use std::fmt;

use super::LockError;

/// Writes the name of a variant and its fields. It does not compile if one of them is missing.
macro_rules! fields {
    ($error:expr, $f:expr, $($variant:ident { $($field:ident),* })*) => {
        match $error {
            $(LockError::$variant { $($field),* } => {
                $f.debug_struct(stringify!($variant))$(.field(stringify!($field), $field))*.finish()
            })*
        }
    };
}

/// `unwrap`, `main` and failed tests show an error by this.
impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: ")?;
        fields! { self, f,
            InvalidPath { path, reason }
            InvalidWait { path, reason }
            Reentrant { path }
            Upgrade { path }
            InvalidPermits { path, wanted, reason }
            PermitsDiffer { path, ours, theirs }
            InvalidGroup { reason }
            MixedRecipes { path, own, other }
            NotLeader { path }
            WouldBlockRuntime { path }
            InvalidConfig { setting, reason }
            NotInstalled { name, path }
            AlreadyInstalled { name }
            Connect { endpoints, waited, reason }
            Timeout { path, waited, phase, holder }
            Lost { path, reason }
            Denied { path, permission }
            AuthFailed { endpoints }
            Tls { endpoints, reason }
            Kerberos { endpoints, reason }
            Refused { path, refusal }
            OutcomeUnknown { path, reason }
            Forked { path }
            Closed { path }
        }
    }
}
