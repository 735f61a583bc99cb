//! Annotated functions.

mod contended;
mod endings;
mod installation;
mod modes;
mod paths;
mod sync;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(crate) struct Tracer(Arc<AtomicBool>);

impl Tracer {
    pub(crate) fn new() -> (Self, Arc<AtomicBool>) {
        let tracer = Self::default();
        let dropped = tracer.0.clone();
        (tracer, dropped)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
