//! The hold of a mutex that a function takes without a guard.

use std::sync::Arc;

use crate::error::LockError;
use crate::events::HoldSpan;

use super::finishing::Finishing;
use super::holder::{Holder, Lost};
use super::holds::Holds;
use super::inside::Inside;
use super::node::Node;
use super::scope::Scope;

/// The hold of a mutex that a function takes without a guard, to run a body at once. It is small, because it is moved a few
/// times.
#[derive(Debug)]
pub(crate) enum Taken {
    Again(Inside),
    First(Box<Holds>),
}

impl Holder for Taken {
    #[inline(always)]
    fn check(&self) -> Result<(), LockError> {
        match self {
            Self::Again(inside) => inside.check(),
            Self::First(holds) => holds.check(),
        }
    }

    fn lost(&self) -> Lost {
        match self {
            Self::Again(inside) => inside.lost(),
            Self::First(holds) => Holds::lost(holds),
        }
    }

    #[inline(always)]
    fn around(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Again(inside) => inside.around(),
            Self::First(holds) => Holds::around(holds),
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Again(inside) => inside.scope(),
            Self::First(holds) => Holds::scope(holds),
        }
    }

    #[inline(always)]
    fn span(&self) -> Option<Arc<HoldSpan>> {
        match self {
            Self::Again(inside) => inside.span(),
            Self::First(holds) => Holds::span(holds),
        }
    }

    #[inline(always)]
    fn finish(self) -> Finishing {
        match self {
            Self::Again(inside) => inside.finish(),
            Self::First(holds) => holds.finish(),
        }
    }
}
