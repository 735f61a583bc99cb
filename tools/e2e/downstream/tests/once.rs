//! Functions and methods that would share a tick unseen. No client is installed, so that no body runs.

#![deny(warnings)]

use zklock::{LockError, distributed_lock};

macro_rules! jobs {
    ($($job:ident),*) => {$(
        struct $job;

        impl $job {
            #[distributed_lock(path = "/jobs", once_per = "15m")]
            fn sweep() -> Result<(), LockError> {
                Ok(())
            }
        }
    )*};
}

jobs!(Invoices, Reports);

trait Job {
    #[distributed_lock(path = "/jobs", once_per = "15m")]
    fn provided(&self) -> Result<(), LockError> {
        Ok(())
    }
}

mod eu {
    pub(crate) struct Shop<T>(pub(crate) T);

    impl<T> super::Job for Shop<T> {}
}

mod us {
    pub(crate) struct Shop;

    impl super::Job for Shop {}
}

/// Returns the reason why the call is refused; `None` if only the client is missing.
#[track_caller]
fn refused(called: Result<(), LockError>) -> Option<String> {
    match called.unwrap_err() {
        LockError::NotInstalled { .. } => None,
        LockError::InvalidConfig { setting: "once_per", reason } => Some(reason),
        other => panic!("{other}"),
    }
}

#[test]
fn functions_from_one_line_of_a_macro_need_a_tick() {
    assert_eq!(refused(Invoices::sweep()), None);
    let reason = refused(Reports::sweep()).unwrap();
    assert!(reason.starts_with("two functions in one module have the name `sweep`"), "{reason}");
    assert_eq!(refused(Invoices::sweep()), None);
}

#[test]
fn a_provided_method_of_types_of_one_name_needs_a_tick() {
    assert_eq!(refused(eu::Shop(7).provided()), None);
    let reason = refused(us::Shop.provided()).unwrap();
    let expected = "`Shop::provided` is a method of `once::us::Shop` and of `once::eu::Shop`";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!(refused(eu::Shop("seven").provided()), None);
}
