//! The task engine.

pub(crate) mod ids;
