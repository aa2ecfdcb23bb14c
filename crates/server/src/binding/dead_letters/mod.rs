//! Operator API for dead letters.
//!
//! | request | effect |
//! | --- | --- |
//! | `GET /api/push/dead` | lists dead letters, oldest first; `?skip=N` skips the first `N` |
//! | `POST /api/push/dead/{id}/replay` | retries a delivery |
//! | `DELETE /api/push/dead/{id}` | deletes a dead letter |

use bytes::Bytes;
use http::{Method, Response};
use latimer_protocol::{Caller, Error, ErrorKind};
use latimer_store::Error as StoreError;
use serde_json::{Value, json};
use tracing::error;

use super::body::Body;
use super::{Frontend, RequestContext, respond};
use crate::auth::OPERATOR_SCOPE;
use crate::push::{DeadLetterView, ReplayOutcome, WebhookDispatcher};

/// Maximum number of dead letters in a response.
const PAGE_SIZE: usize = 1_000;

impl Frontend {
    /// Handles a request for dead letters; `subpath` is the path below `/api/push/dead`.
    pub(super) async fn dead_letters(
        &self,
        ctx: &RequestContext<'_>,
        subpath: &str,
    ) -> Response<Body> {
        match self.handle_dead_letters(ctx, subpath).await {
            Ok(value) => respond::json(Bytes::from(value.to_string())),
            Err(error) => self.plain_error(None, &error),
        }
    }

    async fn handle_dead_letters(
        &self,
        ctx: &RequestContext<'_>,
        subpath: &str,
    ) -> Result<Value, Error> {
        self.check_host(ctx.head, ctx.peer)?;
        self.check_origin(ctx.head, ctx.peer)?;
        let caller = self.authenticate(ctx).await?;
        self.charge_rate(ctx, &caller, None)?;
        if !self.is_operator(&caller) {
            let message = "this requires the scope latimer:operator";
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        let dispatcher = self.dispatcher.as_ref().ok_or(ErrorKind::PushNotificationNotSupported)?;
        let segments: Vec<_> = subpath.split('/').filter(|it| !it.is_empty()).collect();
        match (&ctx.head.method, segments.as_slice()) {
            (&Method::GET, []) => list(dispatcher, parse_skip(ctx.head.uri.query())).await,
            (&Method::POST, [id, "replay"]) => replay(dispatcher, id).await,
            (&Method::DELETE, [id]) => delete(dispatcher, id).await,
            _ => Err(Error::new(ErrorKind::MethodNotFound, "no resource exists at this path")),
        }
    }

    /// Returns whether a caller is an operator. Without authentication, every caller is one if the
    /// server listens on loopback only.
    fn is_operator(&self, caller: &Caller) -> bool {
        match self.auth {
            Some(_) => caller.scopes().iter().any(|it| it == OPERATOR_SCOPE),
            None => self.is_loopback_only,
        }
    }
}

async fn list(dispatcher: &WebhookDispatcher, skip: usize) -> Result<Value, Error> {
    let dead_letters =
        dispatcher.dead_letters(skip.saturating_add(PAGE_SIZE)).await.map_err(store_error)?;
    let dead_letters: Vec<_> =
        dead_letters.iter().skip(skip).map(DeadLetterView::to_json).collect();
    Ok(json!({ "letters": dead_letters }))
}

fn parse_skip(query: Option<&str>) -> usize {
    let skip = query.and_then(|it| it.strip_prefix("skip="));
    skip.and_then(|it| it.parse().ok()).unwrap_or_default()
}

async fn replay(dispatcher: &WebhookDispatcher, id: &str) -> Result<Value, Error> {
    match dispatcher.replay(id).await.map_err(store_error)? {
        ReplayOutcome::Delivered => Ok(json!({ "delivered": true })),
        ReplayOutcome::Failed(reason) => Ok(json!({ "delivered": false, "reason": reason })),
        ReplayOutcome::NotFound => Err(not_found()),
    }
}

async fn delete(dispatcher: &WebhookDispatcher, id: &str) -> Result<Value, Error> {
    match dispatcher.delete_dead_letter(id).await.map_err(store_error)? {
        true => Ok(json!({ "dropped": true })),
        false => Err(not_found()),
    }
}

fn not_found() -> Error {
    Error::new(ErrorKind::MethodNotFound, "the dead letter does not exist")
}

fn store_error(error: StoreError) -> Error {
    error!(%error, "dead letter operation failed");
    Error::new(ErrorKind::Unavailable, "the store is unavailable; try again later")
}
