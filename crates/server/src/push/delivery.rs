//! One delivery: a request, and what became of it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use latimer_outbound::RequestError;
use latimer_protocol::{Notification, Revision, Secret, TaskPushNotificationConfig};
use latimer_store::Webhook;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::signing::{DeliveryClaims, Keyring};

/// Names the delivery: the same however often it is tried.
const WEBHOOK_ID_HEADER: HeaderName = HeaderName::from_static("webhook-id");

/// Where receivers look for the token that they gave.
const TOKEN_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("a2a-notification-token"),
];

/// Where the signature is, whatever `Authorization` has.
const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("a2a-notification-jwt");

/// Who signs deliveries, and under which name.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    pub(crate) keyring: Keyring,
    pub(crate) issuer: String,
}

/// Names a delivery.
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

/// The request of a delivery.
pub(super) fn request(
    webhook: &Webhook,
    notification: Notification,
    id: &str,
    signer: Option<&Signer>,
) -> Result<Request<Bytes>, &'static str> {
    let config = &webhook.config;
    let mut request = Request::post(&*config.url);
    let headers = request.headers_mut().ok_or("the address is not a URL")?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(notification.media_type));
    headers.insert(WEBHOOK_ID_HEADER, header_value(id)?);
    if let Some(token) = &config.token {
        for name in TOKEN_HEADERS {
            headers.insert(name, secret_header_value(token.reveal())?);
        }
    }
    let body = Bytes::from(notification.body);
    let signature = signer.map(|it| it.sign(config, id, &body)).transpose()?;
    insert_authorization(headers, config, signature.as_deref())?;
    request.body(body).map_err(|_| "the address is not a URL")
}

impl Signer {
    fn sign(
        &self,
        config: &TaskPushNotificationConfig,
        id: &str,
        body: &[u8],
    ) -> Result<String, &'static str> {
        let target: Uri = config.url.parse().map_err(|_| "the address is not a URL")?;
        let (scheme, authority) = (target.scheme_str(), target.authority());
        let audience = format!(
            "{}://{}",
            scheme.unwrap_or_default(),
            authority.map(Authority::as_str).unwrap_or_default()
        );
        let token = self.keyring.delivery_token(&DeliveryClaims {
            issuer: &self.issuer,
            audience: &audience,
            id,
            issued_at: SystemTime::now(),
            body,
        });
        token.map_err(|_| "the delivery could not be signed")
    }
}

/// What was asked for; else the token, by which older receivers know us; else the signature, which
/// has a header of its own as well.
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
    HeaderValue::from_str(text).map_err(|_| "what should go into a header cannot")
}

fn secret_header_value(secret: &str) -> Result<HeaderValue, &'static str> {
    let mut value = header_value(secret)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Why a delivery failed, in words for whoever registered the webhook and for the log.
#[derive(Debug)]
pub(super) struct DeliveryError {
    pub(super) reason: String,
    /// How long the receiver wants to be left alone.
    pub(super) retry_after: Option<Duration>,
}

/// Whether a delivery arrived.
pub(super) fn check_response(
    result: Result<Response<()>, RequestError>,
) -> Result<(), DeliveryError> {
    let response =
        result.map_err(|error| DeliveryError { reason: error.to_string(), retry_after: None })?;
    if response.status().is_success() {
        return Ok(());
    }
    let reason = format!("the receiver answered {}", response.status().as_u16());
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let retry_after =
        response.headers().get(RETRY_AFTER).filter(|_| busy.contains(&response.status()));
    let seconds = retry_after.and_then(|it| it.to_str().ok()).and_then(|it| it.trim().parse().ok());
    Err(DeliveryError { reason, retry_after: seconds.map(Duration::from_secs) })
}

/// Anything from 0 to 1.
pub(super) fn jitter() -> f64 {
    // The last bits of a new identifier are chance.
    let bits = Uuid::now_v7().as_u64_pair().1 & ((1 << 32) - 1);
    bits as f64 / (1_u64 << 32) as f64
}
