//! Cards: what agents say about themselves, with the addresses they are served at.
//!
//! A card is written once for each address and form that is asked for, and kept. It is for everybody,
//! needs no version, and can be kept by its readers.

mod fresh;
mod render;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use latimer_protocol::binding::rest::JSON;
use latimer_protocol::{Error, ErrorKind, Operation, Version};

use super::body::Body;
use super::place::Shape;
use super::{At, Front, respond};
use crate::address::{Address, FORWARDING};

/// How many written cards are kept. Whoever makes up addresses gets no more than these.
const KEPT: usize = 256;
/// What cards are asked with.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The cards of a server.
#[derive(Debug)]
pub(crate) struct Cards {
    /// Agents do not change while a server runs.
    since: SystemTime,
    cache_control: HeaderValue,
    written: Mutex<HashMap<Key, Written>>,
}

/// What a written card depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    which: Which,
    address: Address,
    form: FormName,
}

/// Which card, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Which {
    /// That of the primary agent, at the common address.
    Primary,
    /// That of one agent, at its own.
    Own(String),
    All,
}

/// The form of a card, by whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FormName {
    Superset,
    V1_0,
    Oldest,
}

/// A card, written.
#[derive(Clone, Debug)]
struct Written {
    body: Bytes,
    tag: HeaderValue,
}

impl Cards {
    pub(crate) fn new(max_age: Duration) -> Self {
        let cache_control = format!("public, max-age={}", max_age.as_secs());
        Self {
            since: SystemTime::now(),
            cache_control: HeaderValue::try_from(cache_control)
                .unwrap_or(HeaderValue::from_static("public")),
            written: Mutex::default(),
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<Key, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    /// Answers with a card.
    pub(super) fn card(&self, at: &At<'_>, shape: Shape) -> Response<Body> {
        let which = match &at.agent {
            None => Which::Primary,
            Some(agent) => Which::Own(agent.to_string()),
        };
        let form = match shape {
            Shape::Newest => self.form(at),
            Shape::Oldest => FormName::Oldest,
        };
        self.show(at, which, form)
    }

    /// Answers with all cards.
    pub(super) fn cards(&self, at: &At<'_>) -> Response<Body> {
        let form = self.form(at);
        self.show(at, Which::All, form)
    }

    /// A caller that says 1.x gets just that; all others what they can pick theirs from. A version
    /// that nobody speaks is no reason to hide which ones we do.
    fn form(&self, at: &At<'_>) -> FormName {
        match at.said() {
            Ok(Some(Version::V1_0)) => FormName::V1_0,
            _ if !self.settings.superset_card => FormName::V1_0,
            _ => FormName::Superset,
        }
    }

    fn show(&self, at: &At<'_>, which: Which, form: FormName) -> Response<Body> {
        if let Err((status, error)) = self.admit(at) {
            return self.no_card(status, &error);
        }
        match at.head.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                return respond::allowing(response, METHODS);
            }
            _ => {
                let error = Error::new(ErrorKind::InvalidRequest, "a card is asked for with GET");
                let response = self.no_card(StatusCode::METHOD_NOT_ALLOWED, &error);
                return respond::allowing(response, METHODS);
            }
        }
        if let Err(error) = self.charge(at, &self.anonymous, Some(Operation::GetAgentCard)) {
            return self.no_card(StatusCode::TOO_MANY_REQUESTS, &error);
        }
        let address = self.address(at);
        let written = self.written_card(Key { which, address, form });
        let since = httpdate::fmt_http_date(self.cards.since);
        let unchanged = fresh::is_fresh(&at.head.headers, &written.tag, self.cards.since);
        let mut response = match unchanged {
            true => Response::new(Body::empty()),
            false => respond::json(written.body),
        };
        if unchanged {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, written.tag);
        headers.insert(CACHE_CONTROL, self.cards.cache_control.clone());
        if let Ok(since) = HeaderValue::try_from(since) {
            headers.insert(LAST_MODIFIED, since);
        }
        headers.insert(VARY, self.vary(at));
        response
    }

    /// What the card depends on beside the address that was asked.
    fn vary(&self, at: &At<'_>) -> HeaderValue {
        let version = "A2A-Version";
        if !self.addresses.trusts(at.peer.map(|it| it.ip())) {
            return HeaderValue::from_static(version);
        }
        let all = [&[version][..], &FORWARDING].concat().join(", ");
        HeaderValue::try_from(all).unwrap_or(HeaderValue::from_static("*"))
    }

    fn address(&self, at: &At<'_>) -> Address {
        let peer = at.peer.map(|it| it.ip());
        self.addresses.of(&at.head.uri, &at.head.headers, peer)
    }

    fn written_card(&self, key: Key) -> Written {
        if let Some(written) = self.cards.written().get(&key) {
            return written.clone();
        }
        let body = Bytes::from(self.render(&key).to_string());
        let written = Written { tag: fresh::tag(&body), body };
        let mut all = self.cards.written();
        if all.len() >= KEPT {
            all.clear();
        }
        all.insert(key, written.clone());
        written
    }

    fn no_card(&self, status: StatusCode, error: &Error) -> Response<Body> {
        let mut written = error.to_http(Version::V1_0);
        if let Some(code) = written.body.pointer_mut("/error/code") {
            *code = status.as_u16().into();
        }
        let response = respond::whole(status, JSON, written.body.to_string());
        respond::explained(response, error, self.challenge())
    }
}
