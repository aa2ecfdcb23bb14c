//! Health service, and reflection services in the versions `v1` and `v1alpha`.

use std::fmt;

use axum::{BoxError, Router};
use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use latimer_pb::FILE_DESCRIPTOR_SET;
use latimer_protocol::binding::grpc::Package;
use latimer_protocol::{Error, ErrorKind, Version};
use tonic_health::ServingStatus;
use tonic_health::pb::FILE_DESCRIPTOR_SET as HEALTH;
use tonic_health::server::HealthReporter;
use tonic_reflection::server::{Builder, Error as ReflectionError};
use tower_service::Service as _;

use super::error_response;
use crate::binding::Body;

/// Path prefix of the reflection services.
pub(super) const REFLECTION_PREFIX: &str = "/grpc.reflection.";

/// Health and reflection services.
#[derive(Clone)]
pub(crate) struct SupportServices {
    services: Router,
    health: HealthReporter,
}

impl fmt::Debug for SupportServices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SupportServices")
    }
}

impl SupportServices {
    /// Creates the services, with an unknown health status.
    pub(crate) fn new() -> Result<Self, ReflectionError> {
        let (health, health_service) = tonic_health::server::health_reporter();
        let reflection_builder = || {
            Builder::configure()
                .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(HEALTH)
        };
        let unknown_service = || async {
            let error = Error::new(ErrorKind::MethodNotFound, "unknown service");
            error_response(&error, Version::V1_0).map(axum::body::Body::new)
        };
        let services = Router::new()
            .route_service("/grpc.health.v1.Health/{method}", health_service)
            .route_service(
                "/grpc.reflection.v1.ServerReflection/{method}",
                reflection_builder().build_v1()?,
            )
            .route_service(
                "/grpc.reflection.v1alpha.ServerReflection/{method}",
                reflection_builder().build_v1alpha()?,
            )
            .fallback(unknown_service);
        Ok(Self { services, health })
    }

    /// Sets the health status.
    pub(crate) async fn set_serving(&self, serving: bool) {
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        for service in ["", Package::V1_0.service(), Package::V0_3.service()] {
            self.health.set_service_status(service, status).await;
        }
    }

    pub(super) async fn handle<B>(&self, head: Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let request = Request::from_parts(head, axum::body::Body::new(body));
        match self.services.clone().call(request).await {
            Ok(response) => response.map(Body::Other),
            Err(never) => match never {},
        }
    }
}
