//! Benchmarks of Latimer, and the helpers that they and the soak test share.
//!
//! | module | contents |
//! | --- | --- |
//! | [`measure`] | comparison of two functions in one process, in alternating rounds |
//! | [`role`] | the servers and load generators that a benchmark program can run as a child process |
//! | [`baseline`], [`server_under_test`] | minimal servers to compare with; the Latimer server |
//! | [`load`], [`readers`], [`hold_open`], [`call`] | load generators: calls, stream readers, idle resources, client libraries |
//! | [`fanout`] | many readers of one task within one process |
//! | [`http`] | minimal HTTP/1.1 client for load generators |
//! | [`process`], [`temp_dir`], [`disk`] | child processes and their resource usage, scratch directories, disk latency |
//! | [`arguments`], [`histogram`], [`report`] | command-line options, latency percentiles, printed and saved reports |
//!
//! A benchmark program starts servers and load generators as child processes, pinned to one core each.
//! The child processes run the same executable in another [`role`].

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

pub use paired::{PairedTimes, measure};

/// Error of any kind, printed by the program before it exits.
pub type BenchError = Box<dyn std::error::Error + Send + Sync>;
