//! Cards: what agents say about themselves, with the addresses they are served at.
//!
//! A card is written once for each address and form that is asked for, and kept. It is for everybody,
//! needs no version, and can be kept by its readers. So can the keys that prove its signature.

mod fresh;
mod keys;
mod render;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use latimer_protocol::{Error, ErrorKind, Operation, Version};

use super::body::Body;
use super::place::Shape;
use super::{At, Front, respond};
use crate::address::{Address, FORWARDING};
use crate::placard::Placard;
use crate::settings::Settings;
use crate::signing::Keyring;

/// How many written cards are kept. Whoever makes up addresses gets no more than these.
const KEPT: usize = 256;
/// What cards are asked with.
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The cards of a server.
#[derive(Debug)]
pub(crate) struct Cards {
    /// When the server began.
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
    /// How often the cards it is of were changed.
    edition: u64,
    /// The name of the key that it is signed with, if it is.
    signed: Option<String>,
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

/// Something that is for everybody, and can be kept.
struct Published {
    written: Written,
    /// Since when it is as it is.
    since: SystemTime,
    /// What it depends on.
    vary: Option<HeaderValue>,
}

/// A card, written.
#[derive(Clone, Debug)]
struct Written {
    body: Bytes,
    tag: HeaderValue,
}

impl Written {
    fn new(body: Bytes) -> Self {
        Self { tag: fresh::tag(&body), body }
    }
}

impl Cards {
    pub(crate) fn new(settings: &Settings) -> Self {
        let whose = if settings.card_requires_auth { "private" } else { "public" };
        let cache_control = format!("{whose}, max-age={}", settings.card_max_age.as_secs());
        Self {
            since: SystemTime::now(),
            cache_control: HeaderValue::try_from(cache_control)
                .unwrap_or(HeaderValue::from_static("private")),
            written: Mutex::default(),
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<Key, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    /// Answers with a card.
    pub(super) async fn card(&self, at: &At<'_>, shape: Shape) -> Response<Body> {
        let which = match &at.agent {
            None => Which::Primary,
            Some(agent) => Which::Own(agent.to_string()),
        };
        let form = match shape {
            Shape::Newest => self.form(at),
            Shape::Oldest => FormName::Oldest,
        };
        self.show(at, which, form).await
    }

    /// Answers with all cards.
    pub(super) async fn cards(&self, at: &At<'_>) -> Response<Body> {
        let form = self.form(at);
        self.show(at, Which::All, form).await
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

    async fn show(&self, at: &At<'_>, which: Which, form: FormName) -> Response<Body> {
        let write = || {
            let (address, signed) = self.address(at);
            let (edition, since) = self.edition(&which);
            let written = self.written_card(Key { which, address, form, edition, signed });
            Published { written, since, vary: Some(self.vary(at)) }
        };
        if let Err(error) = self.check_reader(at).await {
            return self.plain_error(None, &error);
        }
        self.published(at, "a card is asked for with GET", write)
    }

    /// How often the cards of an answer were changed, and since when they are as they are.
    fn edition(&self, which: &Which) -> (u64, SystemTime) {
        let agents: Vec<_> = match which {
            Which::All => self.registry.iter().collect(),
            Which::Primary => self.meant(None).into_iter().collect(),
            Which::Own(name) => self.meant(Some(name)).into_iter().collect(),
        };
        let placards = || agents.iter().map(|it| it.placard());
        let since = placards().map(Placard::since).fold(self.cards.since, SystemTime::max);
        (placards().map(Placard::edition).sum(), since)
    }

    /// Answers with something that is for everybody, and can be kept.
    fn published(
        &self,
        at: &At<'_>,
        only_get: &'static str,
        write: impl FnOnce() -> Published,
    ) -> Response<Body> {
        if let Err((status, error)) = self.admit(at) {
            return self.plain_error(Some(status), &error);
        }
        match at.head.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                return respond::allowing(response, METHODS);
            }
            _ => {
                let error = Error::new(ErrorKind::InvalidRequest, only_get);
                let response = self.plain_error(Some(StatusCode::METHOD_NOT_ALLOWED), &error);
                return respond::allowing(response, METHODS);
            }
        }
        if let Err(error) = self.charge(at, &self.anonymous, Some(Operation::GetAgentCard)) {
            return self.plain_error(None, &error);
        }
        let Published { written, since, vary } = write();
        let unchanged = fresh::is_fresh(&at.head.headers, &written.tag, since);
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
        if let Ok(since) = HeaderValue::try_from(httpdate::fmt_http_date(since)) {
            headers.insert(LAST_MODIFIED, since);
        }
        headers.extend(vary.map(|it| (VARY, it)));
        response
    }

    /// What the card depends on beside the address that was asked.
    fn vary(&self, at: &At<'_>) -> HeaderValue {
        let version = match self.settings.card_requires_auth {
            true => "A2A-Version, Authorization, X-API-Key",
            false => "A2A-Version",
        };
        if !self.addresses.trusts(at.peer.map(|it| it.ip())) {
            return HeaderValue::from_static(version);
        }
        let all = [&[version][..], &FORWARDING].concat().join(", ");
        HeaderValue::try_from(all).unwrap_or(HeaderValue::from_static("*"))
    }

    /// Where the caller reaches the server, and with which key a card that says so is signed.
    fn address(&self, at: &At<'_>) -> (Address, Option<String>) {
        let peer = at.peer.map(|it| it.ip());
        let address = self.addresses.of(&at.head.uri, &at.head.headers, peer);
        let keyring = self.keyring.as_ref().filter(|_| self.addresses.vouch_for(&address));
        (address, keyring.map(Keyring::kid))
    }

    fn written_card(&self, key: Key) -> Written {
        if let Some(written) = self.cards.written().get(&key) {
            return written.clone();
        }
        let body = Bytes::from(self.render(&key).to_string());
        let written = Written::new(body);
        let mut all = self.cards.written();
        if all.len() >= KEPT {
            all.clear();
        }
        all.insert(key, written.clone());
        written
    }
}
