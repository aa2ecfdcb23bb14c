//! Guard for outbound network addresses, and an HTTP client that enforces it.
//!
//! Webhook URLs, card URLs and URLs inside cards come from untrusted clients and make this machine
//! open connections from its own network position. A [`Guard`] decides which addresses may be
//! connected to. An [`HttpClient`] enforces it in its connector: it resolves a host name once,
//! checks all resulting addresses and connects to one of them. Pooled connections, redirects and
//! HTTP/2 all use this connector, so the guard checks every connection.
//!
//! Proxy settings of the environment are ignored.
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
//! | `guard` (default) | [`Guard`] |
//! | `client` | [`HttpClient`], for plain HTTP |
//! | `tls` | HTTPS and client certificates for [`HttpClient`]; needs a C compiler |
//!
//! Without features the crate contains [`Network`], [`Backoff`] and the loopback predicates only.
//!
//! | module | contents |
//! | --- | --- |
//! | `guard`, `forbidden` | the address policy and its errors |
//! | `allow_rule`, `network` | exceptions to the policy: host and port, or network |
//! | `address_class` | classes of IP addresses from the IANA registries |
//! | `loopback` | hosts and addresses of the local machine |
//! | `host`, `target` | normalized hosts and URLs |
//! | `resolve`, `dial` | host name resolution and opening of sockets, replaceable in tests |
//! | `client` | the HTTP client |
//! | `backoff` | delays between attempts |

#[cfg(feature = "guard")]
mod address_class;
#[cfg(feature = "guard")]
mod allow_rule;
mod backoff;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod dial;
#[cfg(feature = "guard")]
mod forbidden;
#[cfg(feature = "guard")]
mod guard;
#[cfg(feature = "guard")]
mod host;
mod loopback;
mod network;
#[cfg(feature = "guard")]
mod resolve;
#[cfg(feature = "guard")]
mod target;

#[cfg(feature = "guard")]
pub use allow_rule::{AllowRule, InvalidAllowRule};
pub use backoff::Backoff;
#[cfg(feature = "client")]
pub use client::{
    Body, HttpClient, HttpClientBuilder, InvalidTls, Protocol, RedirectError, RequestError,
    RequestLimits,
};
#[cfg(feature = "client")]
pub use dial::Dial;
#[cfg(feature = "guard")]
pub use forbidden::Forbidden;
#[cfg(feature = "guard")]
pub use guard::{Guard, Rules};
pub use loopback::{is_loopback_host, is_loopback_ip};
pub use network::{InvalidNetwork, Network};
#[cfg(feature = "guard")]
pub use resolve::Resolve;
#[cfg(feature = "guard")]
pub use target::Target;
