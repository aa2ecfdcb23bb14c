//! OAuth 2.0: tokens from an authorization server.
//!
//! A program without a user obtains tokens with its own credentials
//! ([`TokenSource::client_credentials`]). A user logs in with a browser on this machine
//! ([`CodeFlow`]) or on another device ([`DeviceFlow`]). All three result in a [`TokenSource`],
//! which renews tokens that expire. An [`OAuthProvider`] holds the endpoints of a server, from its
//! metadata or from a card. [`SavedTokens`] restore a login in a later process.
//!
//! No OAuth library is used: the forms are few, all requests must use the guarded HTTP client, and
//! concurrent callers must share one renewal.
//!
//! | module | content |
//! | --- | --- |
//! | `code` | login with a browser |
//! | `device` | login on another device |
//! | `provider` | metadata of authorization servers |
//! | `redirect` | the port that receives the redirect of a login |
//! | `scheme` | authorization servers that a card names |
//! | `server` | the token endpoint |
//! | `tokens` | tokens that are renewed once for all callers |

mod code;
mod device;
mod provider;
mod redirect;
mod request;
mod scheme;
mod server;
mod tokens;

pub use code::{CodeFlow, PendingLogin};
pub use device::{DeviceFlow, DevicePrompt};
pub use provider::OAuthProvider;
pub(super) use server::Token;
pub use server::{AuthorizationServer, OAuthClient};
pub use tokens::{SavedTokens, TokenSource};
