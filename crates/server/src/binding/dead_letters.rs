//! For whoever runs the server: what was not delivered, and what to do about it.
//!
//! | address | what |
//! | --- | --- |
//! | `GET /api/push/dead` | dead letters, the earliest first; `?skip=N` leaves so many out |
//! | `POST /api/push/dead/{id}/replay` | tries one once more |
//! | `DELETE /api/push/dead/{id}` | forgets one |

use bytes::Bytes;
use http::{Method, Response};
use latimer_protocol::{Caller, Error, ErrorKind};
use latimer_store::Error as StoreError;
use serde_json::{Value, json};
use tracing::error;

use super::body::Body;
use super::{Frontend, RequestContext, respond};
use crate::push::{DeadLetterView, ReplayOutcome, WebhookDispatcher};

/// The scope of callers who run the server.
pub const OPERATOR_SCOPE: &str = "latimer:operator";

/// How many dead letters are shown at a time.
const PAGE_SIZE: usize = 1_000;

impl Frontend {
    /// Answers a call about dead letters; `rest` is the path behind their address.
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
            let message = "only whoever runs the server may do this";
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        let dispatcher = self.dispatcher.as_ref().ok_or(ErrorKind::PushNotificationNotSupported)?;
        let segments: Vec<_> = subpath.split('/').filter(|it| !it.is_empty()).collect();
        match (&ctx.head.method, segments.as_slice()) {
            (&Method::GET, []) => list(dispatcher, parse_skip(ctx.head.uri.query())).await,
            (&Method::POST, [id, "replay"]) => replay(dispatcher, id).await,
            (&Method::DELETE, [id]) => delete(dispatcher, id).await,
            _ => Err(Error::new(ErrorKind::MethodNotFound, "there is nothing at this address")),
        }
    }

    /// Whether somebody runs the server. While nobody is asked who they are, everybody who reaches
    /// it from this machine does.
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
    Error::new(ErrorKind::MethodNotFound, "there is no such dead letter")
}

fn store_error(error: StoreError) -> Error {
    error!(%error, "dead letters cannot be reached");
    Error::new(ErrorKind::Unavailable, "the store is not available now; try again later")
}
