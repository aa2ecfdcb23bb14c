//! What the tests stand on: a table of names, a dialer that stays at home, and a listener.

mod dialer;
mod listener;
mod names;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use latimer_outbound::{Allowed, Builder, Client, Failure, Guard, Limits, Rules};

pub(crate) use dialer::Dialer;
pub(crate) use listener::{Answer, Listener, Tls};
pub(crate) use names::Names;

/// A guarded client, and what it stands on.
pub(crate) struct Bench {
    pub(crate) guard: Guard,
    pub(crate) client: Client,
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) names: Arc<Names>,
}

impl Bench {
    pub(crate) fn new(rules: Rules) -> Self {
        Self::with(rules, |builder| builder)
    }

    pub(crate) fn with(rules: Rules, set_up: impl FnOnce(Builder) -> Builder) -> Self {
        let names = Arc::new(Names::default());
        let dialer = Arc::new(Dialer::default());
        let guard = Guard::with_resolver(rules, names.clone());
        let builder = Client::builder(guard.clone()).dial(dialer.clone());
        let client = set_up(builder).build().expect("a client");
        Self { guard, client, dialer, names }
    }

    pub(crate) async fn post(&self, url: &str) -> Result<Response<Bytes>, Failure> {
        self.client.send(post(url), &Limits::default()).await
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Response<Bytes>, Failure> {
        let request = Request::get(url).body(Bytes::new()).expect("a request");
        self.client.send(request, &Limits::default()).await
    }
}

pub(crate) fn post(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from_static(b"{}")).expect("a request")
}

/// The rules that allow these and nothing else.
pub(crate) fn allowing<const N: usize>(targets: [&str; N]) -> Rules {
    let allow = targets.iter().map(|it| it.parse::<Allowed>().expect(it)).collect();
    Rules { allow, loopback: false }
}
