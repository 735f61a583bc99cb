//! The holds of one guard.

use std::ops::Deref;
use std::slice;

use super::Hold;

/// The holds of one guard.
#[derive(Debug)]
pub(crate) enum Holds {
    One(Hold),
    /// One hold for each node. If they are dropped, they end in this order.
    Many(Vec<Hold>),
}

impl Holds {
    pub(crate) fn into_vec(self) -> Vec<Hold> {
        match self {
            Self::One(hold) => vec![hold],
            Self::Many(holds) => holds,
        }
    }
}

impl Deref for Holds {
    type Target = [Hold];

    fn deref(&self) -> &[Hold] {
        match self {
            Self::One(hold) => slice::from_ref(hold),
            Self::Many(holds) => holds,
        }
    }
}

impl FromIterator<Hold> for Holds {
    fn from_iter<I: IntoIterator<Item = Hold>>(holds: I) -> Self {
        let mut holds = holds.into_iter();
        match (holds.next(), holds.next()) {
            (Some(only), None) => Self::One(only),
            (first, second) => Self::Many(first.into_iter().chain(second).chain(holds).collect()),
        }
    }
}
