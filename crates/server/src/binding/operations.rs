//! For whoever runs the server: is it alive, does it take calls, what has it counted.

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
use super::{At, Front, respond};
use crate::metrics::Form;

/// How long the store may take to show that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks whether something is usable.
type Probe = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// Whether calls are taken. Cheap to clone; clones are the same.
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
    /// Ready as long as the store is usable, as `probe` finds out.
    pub(crate) fn with_store<P, F>(probe: P) -> Self
    where
        P: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = bool> + Send + 'static,
    {
        Self { store: Some(Arc::new(move || Box::pin(probe()))), ..Self::default() }
    }

    /// Not ready from now on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    /// Why calls are not taken, if they are not.
    async fn problem(&self) -> Option<&'static str> {
        if self.draining.load(Relaxed) {
            return Some("draining");
        }
        let store = self.store.as_ref()?;
        let usable = tokio::time::timeout(PATIENCE, store()).await.unwrap_or(false);
        (!usable).then_some("store unavailable")
    }
}

impl Front {
    /// Whether the process is alive.
    pub(super) fn health(&self, head: &Parts) -> Response<Body> {
        look(head, || status(StatusCode::OK, "ok"))
    }

    /// Whether it takes calls.
    pub(super) async fn ready(&self, head: &Parts) -> Response<Body> {
        let problem = self.readiness.problem().await;
        look(head, || match problem {
            None => status(StatusCode::OK, "ready"),
            Some(problem) => status(StatusCode::SERVICE_UNAVAILABLE, problem),
        })
    }

    /// What it has counted.
    pub(super) async fn numbers(&self, at: &At<'_>) -> Response<Body> {
        let head = at.head;
        if self.check_host(head, at.peer).is_err() {
            return status(StatusCode::FORBIDDEN, "not a name of this server");
        }
        match self.check_insider(at, self.settings.metrics).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::MethodNotFound => return self.nothing(at),
            Err(error) => return self.plain_error(None, &error),
        }
        look(head, || {
            let accept = head.headers.get(ACCEPT).and_then(|it| it.to_str().ok());
            let form = Form::accepted(accept);
            let text = self.metrics.write(form);
            let mut response = respond::whole(StatusCode::OK, form.content_type(), text);
            response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            response
        })
    }
}

fn look(head: &Parts, answer: impl FnOnce() -> Response<Body>) -> Response<Body> {
    match head.method {
        Method::GET | Method::HEAD => answer(),
        _ => respond::allowing(
            status(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
            "GET, HEAD",
        ),
    }
}

fn status(code: StatusCode, text: &'static str) -> Response<Body> {
    respond::whole(code, JSON, serde_json::json!({ "status": text }).to_string())
}
