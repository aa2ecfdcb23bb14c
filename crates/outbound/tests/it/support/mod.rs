//! Test support: stub resolver, recording dialer and listener.

mod dialer;
mod listener;
mod resolver;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use latimer_outbound::{
    AllowRule, Guard, HttpClient, HttpClientBuilder, RequestError, RequestLimits, Rules,
};

pub(crate) use dialer::RecordingDialer;
pub(crate) use listener::{Listener, StubResponse, Transport};
pub(crate) use resolver::StubResolver;

/// HTTP client with its guard, stub resolver and recording dialer.
pub(crate) struct Harness {
    pub(crate) guard: Guard,
    pub(crate) client: HttpClient,
    pub(crate) dialer: Arc<RecordingDialer>,
    pub(crate) resolver: Arc<StubResolver>,
}

impl Harness {
    pub(crate) fn new(rules: Rules) -> Self {
        Self::with_builder(rules, |builder| builder)
    }

    pub(crate) fn with_builder(
        rules: Rules,
        configure: impl FnOnce(HttpClientBuilder) -> HttpClientBuilder,
    ) -> Self {
        let resolver = Arc::new(StubResolver::default());
        let dialer = Arc::new(RecordingDialer::default());
        let guard = Guard::with_resolver(rules, resolver.clone());
        let builder = HttpClient::builder(guard.clone()).dialer(dialer.clone());
        let client = configure(builder).build().expect("a client");
        Self { guard, client, dialer, resolver }
    }

    pub(crate) async fn post(&self, url: &str) -> Result<Response<Bytes>, RequestError> {
        self.client.send(post(url), &RequestLimits::default()).await
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Response<Bytes>, RequestError> {
        let request = Request::get(url).body(Bytes::new()).expect("a request");
        self.client.send(request, &RequestLimits::default()).await
    }
}

pub(crate) fn post(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from_static(b"{}")).expect("a request")
}

/// Returns rules that allow only these targets in addition to public HTTPS.
pub(crate) fn allow_only<const N: usize>(targets: [&str; N]) -> Rules {
    let allow = targets.iter().map(|it| it.parse::<AllowRule>().expect(it)).collect();
    Rules { allow, allow_loopback: false }
}
