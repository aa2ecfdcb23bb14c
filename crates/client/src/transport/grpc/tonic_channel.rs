//! The guarded HTTP client as a tonic service.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use latimer_outbound::{Body, HttpClient, RequestError};
use tower_service::Service;

/// Sends the requests of tonic over the guarded client.
#[derive(Clone, Debug)]
pub(super) struct TonicChannel(HttpClient);

impl TonicChannel {
    pub(super) fn new(client: HttpClient) -> Self {
        Self(client)
    }
}

impl Service<Request<tonic::body::Body>> for TonicChannel {
    type Response = Response<Body>;
    type Error = RequestError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, RequestError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move { client.send_streaming(request).await })
    }
}
