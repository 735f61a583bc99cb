//! A place in a client for what a higher floor keeps with it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// Holds one value of a type that the client does not know; it is dropped with the client.
#[derive(Default)]
pub(crate) struct Slot(OnceLock<Box<dyn Any + Send + Sync>>);

impl Slot {
    /// Returns the value, which is made by the first call.
    ///
    /// # Panics
    ///
    /// If another type was asked for before: a slot has one user.
    pub(crate) fn get_or_default<T: Any + Default + Send + Sync>(&self) -> &T {
        let value = self.0.get_or_init(|| Box::new(T::default()));
        value.downcast_ref().expect("a slot holds values of one type")
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("is_taken", &self.0.get().is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_slot_keeps_the_value_that_its_first_user_made() {
        let slot = Slot::default();
        slot.get_or_default::<Mutex<Vec<u8>>>().lock().unwrap().push(7);
        assert_eq!(*slot.get_or_default::<Mutex<Vec<u8>>>().lock().unwrap(), [7]);
    }
}
