//! Measuring: two ways to do one thing, and servers under load.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`measure`] | two ways to do one thing, taking turns in one process |
//! | [`role`] | what a process is told to be: a server, or the load on one |
//! | [`baseline`], [`server_under_test`] | the servers: one that only answers, and ours |
//! | [`load`], [`hold_open`], [`readers`], [`call`] | what is done to them |
//! | [`process`], [`temp_dir`], [`disk`], [`report`] | what the machine says about it |
//!
//! A program here starts servers and load as processes of their own, each on its own core: itself
//! again, in another [`role`].

pub mod arguments;
pub mod baseline;
pub mod call;
pub mod disk;
pub mod fanout;
pub mod histogram;
pub mod hold_open;
pub mod http;
pub mod load;
mod paired;
pub mod process;
pub mod readers;
pub mod report;
pub mod role;
pub mod server_under_test;
pub mod temp_dir;

pub use paired::{Measured, measure};

/// Why a program here gives up.
pub type BenchError = Box<dyn std::error::Error + Send + Sync>;
