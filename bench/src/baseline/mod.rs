//! Baseline servers: the minimum cost of an A2A response with axum and tonic. A request is parsed and
//! answered with a completed task that echoes it, without validation, storage or an agent.

mod grpc;
mod wire_types;

use std::convert::Infallible;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use serde::Serialize;
use tokio::net::TcpListener;

use self::wire_types::{
    EchoTask, JsonRpcRequest, JsonRpcResponse, SendMessageParams, SendMessageResult, StreamUpdate,
};
use crate::BenchError;

/// Serves JSON-RPC at `/` and HTTP+JSON at its standard paths until the process is killed.
///
/// # Errors
/// Fails if the address cannot be bound.
pub fn serve(address: &str) -> Result<(), BenchError> {
    let router = Router::new()
        .route("/", post(rpc))
        .route("/message:send", post(send))
        .route("/message:stream", post(stream))
        .route("/tasks/{id}", get(task));
    runtime()?.block_on(async {
        let listener = TcpListener::bind(address).await?.tap_io(|socket| {
            // On failure the connection works with Nagle's algorithm enabled.
            let _ = socket.set_nodelay(true);
        });
        Ok(axum::serve(listener, router).await?)
    })
}

/// Serves gRPC until the process is killed.
///
/// # Errors
/// Fails if the address cannot be bound.
pub fn serve_grpc(address: &str) -> Result<(), BenchError> {
    runtime()?.block_on(grpc::serve(address))
}

/// Creates the runtime that all measured servers use, configured like `#[tokio::main]`.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

async fn rpc(body: Bytes) -> Response {
    let Ok(call) = serde_json::from_slice::<JsonRpcRequest<'_>>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let id = call.id;
    let echo = match (call.params.message, call.params.id) {
        (Some(message), _) => EchoTask::new(message),
        (None, Some(task)) => EchoTask::for_task_id(task),
        (None, None) => return StatusCode::BAD_REQUEST.into_response(),
    };
    match call.method {
        "SendMessage" => {
            json(&JsonRpcResponse::new(id, SendMessageResult { task: echo.completed() }))
        }
        "GetTask" => json(&JsonRpcResponse::new(id, echo.completed())),
        "SendStreamingMessage" => {
            events(echo.updates().map(|update| text(&JsonRpcResponse::new(id, update))))
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn send(body: Bytes) -> Response {
    match serde_json::from_slice::<SendMessageParams<'_>>(&body) {
        Ok(params) => json(&SendMessageResult { task: EchoTask::new(params.message).completed() }),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn stream(body: Bytes) -> Response {
    match serde_json::from_slice::<SendMessageParams<'_>>(&body) {
        Ok(params) => {
            let echo = EchoTask::new(params.message);
            events(echo.updates().map(|update: StreamUpdate<'_>| text(&update)))
        }
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn task(Path(id): Path<String>) -> Response {
    json(&EchoTask::for_task_id(&id).completed())
}

fn json(response: &impl Serialize) -> Response {
    let body = serde_json::to_vec(response).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn text(update: &impl Serialize) -> String {
    serde_json::to_string(update).unwrap_or_default()
}

fn events<const N: usize>(updates: [String; N]) -> Response {
    let events = updates.into_iter().map(|it| Ok::<_, Infallible>(Event::default().data(it)));
    Sse::new(futures_util::stream::iter(events)).into_response()
}
