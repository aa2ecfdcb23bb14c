//! Client for agents of every A2A version over every binding.
//!
//! ```toml
//! [dependencies]
//! latimer-client = { version = "0.1", features = ["grpc", "oauth"] }
//! ```
//!
//! | feature | adds | without it |
//! | --- | --- | --- |
//! | `grpc` | calls over gRPC | a client selects no gRPC interface |
//! | `oauth` | tokens from OAuth 2.0 servers | [`credentials::oauth`] contains no way to create a token source |
//! | `tls` (default) | HTTPS and client certificates | plain HTTP only |
//!
//! [`Client::connect`] fetches an agent's card, selects one of its interfaces ([`negotiate`]) and
//! returns a [`Client`] for it. A client has a method for each operation, and [`Client::follow`],
//! which tracks a task until it is terminal or requires input, across lost connections.
//!
//! A client calls through a [`Transport`](transport::Transport), one per binding. Transports send
//! what strict servers require and accept the deviations of real ones. The guarded HTTP client of
//! [`outbound`] opens every socket, and [`Credentials`] are sent only to the origin that they were
//! set for.
//!
//! ```no_run
//! use latimer_client::{Client, user_message};
//! use latimer_protocol::SendMessageResponse;
//!
//! # async fn run() -> Result<(), latimer_client::Error> {
//! let client = Client::connect("http://127.0.0.1:8080").await?;
//! match client.send(user_message("hello")).await? {
//!     SendMessageResponse::Message(message) => println!("{}", message.text()),
//!     SendMessageResponse::Task(task) => println!("{}: {}", task.status.state, task.text()),
//! }
//! # Ok(())
//! # }
//! ```

mod a2a_client;
mod client;
pub mod credentials;
mod discovery;
mod error;
pub mod negotiate;
pub mod transport;

pub use a2a_client::A2aClient;
pub use client::{
    CallOptions, CardRefresh, Client, ClientBuilder, PollPolicy, RetryPolicy, TaskFollower,
    user_message,
};
pub use credentials::{ApiKeyLocation, CredentialSet, Credentials, OriginCredentials};
pub use discovery::{CardCache, CardSource, CardTrust, StoredCard};
pub use error::Error;
pub use latimer_outbound as outbound;
pub use latimer_protocol as protocol;

/// Compiles the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/calling.md")]
mod guide {}
