//! A slot in which a client keeps a value for a higher floor.

use std::any::Any;
use std::sync::OnceLock;

/// One value of a type that the client does not know, dropped with the client.
#[derive(Default)]
pub(crate) struct Slot(OnceLock<Box<dyn Any + Send + Sync>>);

impl Slot {
    /// Returns the value, which the first call creates.
    ///
    /// # Panics
    ///
    /// Panics if an earlier call asked for another type: a slot has one user.
    pub(crate) fn get_or_default<T: Any + Default + Send + Sync>(&self) -> &T {
        let value = self.0.get_or_init(|| Box::new(T::default()));
        value.downcast_ref().expect("a slot is used with one type only")
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
