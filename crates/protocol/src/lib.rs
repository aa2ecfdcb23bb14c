//! A2A as data.
