//! Options of calls.

use std::time::Duration;

use http::HeaderMap;

use super::retry::RetryPolicy;

/// Options of the calls of one [`Client`](super::Client), set with
/// [`with_options`](super::Client::with_options). An unset option keeps its value from the builder of
/// the client.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use latimer_client::{CallOptions, Client, Error, user_message};
/// # async fn run(client: &Client) -> Result<(), Error> {
/// let mut options = CallOptions { timeout: Some(Duration::from_secs(5)), ..CallOptions::default() };
/// options.headers.insert("x-request-id", http::HeaderValue::from_static("42"));
/// client.with_options(options).send(user_message("hello")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Time for a call with a single reply; see [`CallLimits::timeout`].
    ///
    /// [`CallLimits::timeout`]: crate::transport::CallLimits::timeout
    pub timeout: Option<Duration>,
    /// Time that a stream may be silent; see [`CallLimits::idle_timeout`].
    ///
    /// [`CallLimits::idle_timeout`]: crate::transport::CallLimits::idle_timeout
    pub idle_timeout: Option<Duration>,
    /// Headers, or metadata of gRPC, in place of those with the same name. They are sent only to the
    /// origin of the URL that the client was created with, as [`Credentials`](crate::Credentials) are,
    /// and an agent in the same process does not receive them.
    pub headers: HeaderMap,
    /// URIs of extensions to activate, in addition to those of the client.
    pub extensions: Vec<String>,
    /// Policy for repeating failed calls.
    pub retry: Option<RetryPolicy>,
}

impl CallOptions {
    /// Adds the options of `other`. Its values replace those that are set here; its extensions are
    /// added to these.
    pub(super) fn merge(&mut self, other: Self) {
        self.timeout = other.timeout.or(self.timeout);
        self.idle_timeout = other.idle_timeout.or(self.idle_timeout);
        self.headers.extend(other.headers);
        self.headers.values_mut().for_each(|it| it.set_sensitive(true));
        add_extensions(&mut self.extensions, other.extensions);
        self.retry = other.retry.or(self.retry.take());
    }
}

/// Adds the URIs that `extensions` does not contain.
pub(super) fn add_extensions(extensions: &mut Vec<String>, added: Vec<String>) {
    for uri in added {
        if !extensions.contains(&uri) {
            extensions.push(uri);
        }
    }
}
