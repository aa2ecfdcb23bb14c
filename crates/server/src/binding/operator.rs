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
use super::{At, Front, respond};
use crate::push::{Courier, Letter, Replayed};

/// The scope of callers who run the server.
pub const OPERATOR: &str = "latimer:operator";

/// How many dead letters are shown at a time.
const SHOWN: usize = 1_000;

impl Front {
    /// Answers a call about dead letters; `rest` is the path behind their address.
    pub(super) async fn dead_letters(&self, at: &At<'_>, rest: &str) -> Response<Body> {
        match self.operate(at, rest).await {
            Ok(value) => respond::json(Bytes::from(value.to_string())),
            Err(error) => self.plain_error(None, &error),
        }
    }

    async fn operate(&self, at: &At<'_>, rest: &str) -> Result<Value, Error> {
        self.check_host(at.head, at.peer)?;
        self.check_origin(at.head, at.peer)?;
        let caller = self.caller(at).await?;
        self.charge(at, &caller, None)?;
        if !self.is_operator(&caller) {
            let message = "only whoever runs the server may do this";
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        let courier = self.courier.as_ref().ok_or(ErrorKind::PushNotificationNotSupported)?;
        let segments: Vec<_> = rest.split('/').filter(|it| !it.is_empty()).collect();
        match (&at.head.method, segments.as_slice()) {
            (&Method::GET, []) => list(courier, skip(at.head.uri.query())).await,
            (&Method::POST, [id, "replay"]) => replay(courier, id).await,
            (&Method::DELETE, [id]) => forget(courier, id).await,
            _ => Err(Error::new(ErrorKind::MethodNotFound, "there is nothing at this address")),
        }
    }

    /// Whether somebody runs the server. While nobody is asked who they are, everybody who reaches
    /// it from this machine does.
    fn is_operator(&self, caller: &Caller) -> bool {
        match self.auth {
            Some(_) => caller.scopes().iter().any(|it| it == OPERATOR),
            None => self.local,
        }
    }
}

async fn list(courier: &Courier, skip: usize) -> Result<Value, Error> {
    let letters = courier.dead_letters(skip.saturating_add(SHOWN)).await.map_err(failed)?;
    let letters: Vec<_> = letters.iter().skip(skip).map(Letter::to_json).collect();
    Ok(json!({ "letters": letters }))
}

fn skip(query: Option<&str>) -> usize {
    let skip = query.and_then(|it| it.strip_prefix("skip="));
    skip.and_then(|it| it.parse().ok()).unwrap_or_default()
}

async fn replay(courier: &Courier, id: &str) -> Result<Value, Error> {
    match courier.replay(id).await.map_err(failed)? {
        Replayed::Delivered => Ok(json!({ "delivered": true })),
        Replayed::Failed(reason) => Ok(json!({ "delivered": false, "reason": reason })),
        Replayed::Unknown => Err(unknown()),
    }
}

async fn forget(courier: &Courier, id: &str) -> Result<Value, Error> {
    match courier.drop_letter(id).await.map_err(failed)? {
        true => Ok(json!({ "dropped": true })),
        false => Err(unknown()),
    }
}

fn unknown() -> Error {
    Error::new(ErrorKind::MethodNotFound, "there is no such dead letter")
}

fn failed(error: StoreError) -> Error {
    error!(%error, "dead letters cannot be reached");
    Error::new(ErrorKind::Unavailable, "the store is not available now; try again later")
}
