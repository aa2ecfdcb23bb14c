//! The HTTP request of a delivery, and the interpretation of its response.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use latimer_outbound::RequestError;
use latimer_protocol::{Notification, Revision, Secret, TaskPushNotificationConfig};
use latimer_store::Webhook;
use sha2::{Digest, Sha256};

use super::signer::Signer;

/// Header with the id of the delivery, which is the same in every attempt.
const WEBHOOK_ID_HEADER: HeaderName = HeaderName::from_static("webhook-id");

/// Headers with the token that the client registered.
const TOKEN_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("a2a-notification-token"),
];

/// Header with the signature. `Authorization` may contain other credentials.
const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("a2a-notification-jwt");

/// Computes the id of a delivery from its webhook and revision.
pub(super) fn delivery_id(webhook: &Webhook, revision: Revision) -> String {
    let mut digest = Sha256::new();
    let task = &webhook.task;
    for text in [&*task.owner, &*task.agent, task.id.as_str(), webhook.id.as_str()] {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    digest.update(revision.get().to_le_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// Creates the request of a delivery.
///
/// # Errors
/// Fails if the URL is invalid, a header cannot represent a value, or signing fails.
pub(super) fn request(
    webhook: &Webhook,
    notification: Notification,
    id: &str,
    signer: &Signer,
) -> Result<Request<Bytes>, &'static str> {
    let config = &webhook.config;
    let mut request = Request::post(&*config.url);
    let headers = request.headers_mut().ok_or("the webhook URL is invalid")?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(notification.media_type));
    headers.insert(WEBHOOK_ID_HEADER, header_value(id)?);
    if let Some(token) = &config.token {
        for name in TOKEN_HEADERS {
            headers.insert(name, secret_header_value(token.reveal())?);
        }
    }
    let body = Bytes::from(notification.body);
    let signature = signer.sign(config, id, &body)?;
    insert_authorization(headers, config, signature.as_deref())?;
    request.body(body).map_err(|_| "the webhook URL is invalid")
}

/// Sets `Authorization`: the credentials of the webhook, else its token, which older receivers
/// expect there, else the signature. The signature also has its own header.
fn insert_authorization(
    headers: &mut HeaderMap,
    config: &TaskPushNotificationConfig,
    signature: Option<&str>,
) -> Result<(), &'static str> {
    if let Some(signature) = signature {
        headers.insert(SIGNATURE_HEADER, secret_header_value(signature)?);
    }
    let configured = config.authentication.as_ref().map(|it| {
        let credentials = it.credentials.as_ref().map_or("", Secret::reveal);
        format!("{} {credentials}", it.scheme)
    });
    let bearer = config.token.as_ref().map(Secret::reveal).or(signature);
    let bearer = bearer.map(|it| format!("Bearer {it}"));
    if let Some(authorization) = configured.or(bearer) {
        headers.insert(AUTHORIZATION, secret_header_value(authorization.trim_end())?);
    }
    Ok(())
}

fn header_value(text: &str) -> Result<HeaderValue, &'static str> {
    HeaderValue::from_str(text)
        .map_err(|_| "a value contains characters that an HTTP header cannot represent")
}

fn secret_header_value(secret: &str) -> Result<HeaderValue, &'static str> {
    let mut value = header_value(secret)?;
    value.set_sensitive(true);
    Ok(value)
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct DeliveryError {
    /// Reason for the log and the dead letter.
    pub(super) reason: String,
    /// Pause that the receiver requested with `Retry-After`.
    pub(super) retry_after: Option<Duration>,
}

/// Returns whether a delivery succeeded: any 2xx status.
///
/// # Errors
/// Fails on a connection error and on any other status.
pub(super) fn check_response(
    result: Result<Response<()>, RequestError>,
) -> Result<(), DeliveryError> {
    let response =
        result.map_err(|error| DeliveryError { reason: error.to_string(), retry_after: None })?;
    if response.status().is_success() {
        return Ok(());
    }
    let reason = format!("the receiver returned status {}", response.status().as_u16());
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let retry_after =
        response.headers().get(RETRY_AFTER).filter(|_| busy.contains(&response.status()));
    let seconds = retry_after.and_then(|it| it.to_str().ok()).and_then(|it| it.trim().parse().ok());
    Err(DeliveryError { reason, retry_after: seconds.map(Duration::from_secs) })
}
