//! The hold of a mutex that a function takes without a guard.

use std::sync::Arc;

use crate::error::LockError;
use crate::events::HoldSpan;

use super::finishing::{Finishing, finish_ties};
use super::holder::{Holder, Lost};
use super::holds::Holds;
use super::inside::Inside;
use super::node::Node;
use super::scope::{Scope, within_visit};

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
            Self::Again(inside) => inside.ties().node.tenure().check(),
            Self::First(holds) => holds.check(),
        }
    }

    fn lost(&self) -> Lost {
        match self {
            Self::Again(inside) => {
                let tenure = inside.ties().node.tenure().clone();
                Box::pin(async move { tenure.lost().await })
            }
            Self::First(holds) => Holds::lost(holds),
        }
    }

    #[inline(always)]
    fn around(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Again(inside) => Some(&inside.ties().node),
            Self::First(holds) => Holds::around(holds),
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Again(inside) => within_visit(&inside.ties().node),
            Self::First(holds) => Holds::scope(holds),
        }
    }

    #[inline(always)]
    fn span(&self) -> Option<Arc<HoldSpan>> {
        match self {
            Self::Again(inside) => inside.ties().span.for_body(),
            Self::First(holds) => Holds::span(holds),
        }
    }

    #[inline(always)]
    fn finish(self) -> Finishing {
        match self {
            Self::Again(mut inside) => inside.leave().map_or_else(Finishing::nothing, finish_ties),
            Self::First(holds) => holds.finish(),
        }
    }
}
