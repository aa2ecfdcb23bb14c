//! The grammar of each transport, over bytes and texts.
//!
//! A binding finds out which operation is asked for and in which version, and carries payloads as
//! the raw JSON they are. What a payload means is for the dialects; sockets are for the server and
//! the client. Nothing here reads or writes anything but its arguments.

pub mod grpc;
pub mod jsonrpc;
pub mod parameters;
pub mod rest;
pub mod sse;
#[cfg(test)]
mod tests;
mod version;

pub use version::VersionRule;

/// How much of a caller's text is repeated in a message.
const MAX_SHOWN: usize = 64;

/// A caller's text, fit to stand in a message to that caller.
fn shown(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(MAX_SHOWN).collect()
}
