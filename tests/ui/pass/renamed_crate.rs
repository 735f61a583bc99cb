//! The crate may be reached by any path, written bare or quoted, or through `$crate`.

#![deny(warnings)]

mod vendor {
    pub use ::zklock as locks;
}

use vendor::locks::{LockError, distributed_lock};

#[distributed_lock(path = "/bare", crate = crate::vendor::locks)]
async fn bare() -> Result<(), LockError> {
    Ok(())
}

#[distributed_lock(path = "/quoted", crate = "crate::vendor::locks")]
async fn quoted() -> Result<(), LockError> {
    Ok(())
}

macro_rules! locked {
    ($name:ident) => {
        #[distributed_lock(path = "/generated", crate = $crate::vendor::locks)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

locked!(generated);

fn main() {
    drop((bare(), quoted(), generated()));
}
