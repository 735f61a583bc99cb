//! The crate may be reached by any path, written bare or quoted, or through `$crate`.

mod vendor {
    pub use ::zklock as locks;
}

use vendor::locks::{LockError, distributed_lock};

#[distributed_lock(path = "/bare", crate = crate::accepted::renamed_crate::vendor::locks)]
pub async fn bare() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/quoted", crate = "crate::accepted::renamed_crate::vendor::locks")]
pub async fn quoted() -> Result<(), LockError> {
    Ok(())
}

macro_rules! locked {
    ($name:ident) => {
        #[distributed_lock(path = "/generated", crate = $crate::accepted::renamed_crate::vendor::locks)]
        pub async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

locked!(generated);
