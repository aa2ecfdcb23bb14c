//! OAuth 2.0: tokens from an authorization server, by three grants.
//!
//! A program that acts for itself asks with its own credentials ([`TokenSource::client_credentials`]); one that
//! acts for somebody lets them log in, with a browser here ([`CodeFlow`]) or on another device
//! ([`DeviceFlow`]). Each comes to [`TokenSource`], which renews what expires. Where a server describes
//! itself, or a card names one, a [`OAuthProvider`] knows the addresses for all of them. [`SavedTokens`] is what a
//! program keeps, so that nobody has to log in each time it starts.
//!
//! The few forms that are posted here are written by hand: they go through the guarded client like
//! every other request, and what is hard about tokens, that many callers renew one together, no
//! library does.

mod code;
mod device;
mod provider;
mod redirect;
mod scheme;
mod server;
mod tokens;

pub use code::{CodeFlow, PendingLogin};
pub use device::{DeviceFlow, DevicePrompt};
pub use provider::OAuthProvider;
pub(super) use server::Token;
pub use server::{AuthorizationServer, OAuthClient};
pub use tokens::{SavedTokens, TokenSource};
