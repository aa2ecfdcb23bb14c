//! The guard for addresses that strangers name, and an HTTP client that cannot go round it.
//!
//! A webhook, a card, a URL inside a card: whoever names such an address makes this machine connect
//! to it, from where this machine stands. A [`Guard`] says which addresses may be called. An [`HttpClient`]
//! asks it where the socket is opened: a name is resolved once, all its addresses are checked, and
//! one of those is connected to. What is pooled, redirected or spoken over HTTP/2 came through there.
//!
//! Nothing here reads proxy settings from the environment, and nothing knows why a call is made.
//!
//! ```
//! # use latimer_outbound::{Forbidden, Guard, HttpClient, Rules};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules { allow: vec!["hooks.internal:8443".parse()?], ..Rules::default() };
//! let guard = Guard::new(rules);
//! assert_eq!(guard.check("https://10.0.0.7/hook").await, Err(Forbidden::Address));
//! assert_eq!(guard.check("http://0x7f.1/hook").await, Err(Forbidden::Address));
//! let client = HttpClient::builder(guard).build()?;
//! # let _ = client;
//! # Ok(())
//! # }
//! ```
//!
//! | feature | adds |
//! | --- | --- |
//! | `client` | [`HttpClient`], for plain HTTP |
//! | `tls` | HTTPS and client certificates for [`HttpClient`]; needs a C compiler |
//!
//! Without features the crate contains the guard and [`Network`].

mod address_class;
mod allow_rule;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod dial;
mod forbidden;
mod guard;
mod host;
mod network;
mod resolve;
mod target;

pub use allow_rule::{AllowRule, InvalidAllowRule};
#[cfg(feature = "client")]
pub use client::{
    Body, HttpClient, HttpClientBuilder, InvalidTls, Protocol, RedirectError, RequestError,
    RequestLimits,
};
#[cfg(feature = "client")]
pub use dial::Dial;
pub use forbidden::Forbidden;
pub use guard::{Guard, Rules};
pub use network::{InvalidNetwork, Network};
pub use resolve::Resolve;
pub use target::Target;
