//! Puts agents, a store and a server together as a configuration says.

pub mod config;
