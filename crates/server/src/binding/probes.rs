//! Health, readiness and metrics endpoints.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http::header::{ACCEPT, VARY};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use latimer_protocol::ErrorKind;
use latimer_protocol::binding::rest::JSON;

use super::body::Body;
use super::{Frontend, RequestContext, respond};
use crate::metrics::ExpositionFormat;

/// Timeout for the store in a readiness check.
const STORE_PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Check of whether a dependency is usable.
type Probe = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// Whether the server accepts calls. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Readiness {
    draining: Arc<AtomicBool>,
    store: Option<Probe>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Readiness").field("draining", &self.draining).finish_non_exhaustive()
    }
}

impl Readiness {
    /// Creates a readiness that also requires a usable store, as checked by `probe`.
    pub(crate) fn with_store<P, F>(probe: P) -> Self
    where
        P: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = bool> + Send + 'static,
    {
        Self { store: Some(Arc::new(move || Box::pin(probe()))), ..Self::default() }
    }

    /// Reports not ready from now on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    /// Returns the reason for not being ready, if any.
    async fn not_ready_reason(&self) -> Option<&'static str> {
        if self.draining.load(Relaxed) {
            return Some("draining");
        }
        let store = self.store.as_ref()?;
        let usable = tokio::time::timeout(STORE_PROBE_TIMEOUT, store()).await.unwrap_or(false);
        (!usable).then_some("store unavailable")
    }
}

impl Frontend {
    /// Returns whether a path is that of the liveness or readiness check, which are the same for every
    /// server.
    pub(crate) fn is_probe_path(path: &str) -> bool {
        matches!(path, "/health" | "/ready" | "/healthz" | "/livez" | "/readyz")
    }

    /// Responds to a liveness check.
    pub(super) fn health(&self, head: &Parts) -> Response<Body> {
        get_or_head(head, || status_response(StatusCode::OK, "ok"))
    }

    /// Responds to a readiness check.
    pub(super) async fn ready(&self, head: &Parts) -> Response<Body> {
        let reason = self.readiness.not_ready_reason().await;
        get_or_head(head, || match reason {
            None => status_response(StatusCode::OK, "ready"),
            Some(reason) => status_response(StatusCode::SERVICE_UNAVAILABLE, reason),
        })
    }

    /// Responds with the metrics.
    pub(super) async fn metrics(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let head = ctx.head;
        if self.check_host(head, ctx.peer).is_err() {
            return status_response(StatusCode::FORBIDDEN, "the host is not allowed");
        }
        match self.authorize_internal(ctx, self.settings.metrics).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::MethodNotFound => return self.not_found(ctx),
            Err(error) => return self.plain_error(None, &error),
        }
        get_or_head(head, || {
            let accept = head.headers.get(ACCEPT).and_then(|it| it.to_str().ok());
            let format = ExpositionFormat::from_accept(accept);
            let text = self.metrics.write(format);
            let mut response = respond::with_body(StatusCode::OK, format.content_type(), text);
            response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            response
        })
    }
}

fn get_or_head(head: &Parts, make_response: impl FnOnce() -> Response<Body>) -> Response<Body> {
    match head.method {
        Method::GET | Method::HEAD => make_response(),
        _ => respond::with_allow_header(
            status_response(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
            "GET, HEAD",
        ),
    }
}

fn status_response(code: StatusCode, text: &'static str) -> Response<Body> {
    respond::with_body(code, JSON, serde_json::json!({ "status": text }).to_string())
}
