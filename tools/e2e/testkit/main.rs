//! Real servers of the test kit, and its servers as seen by a client in Python.

#[cfg(soak)]
mod kazoo;
mod launcher;
