//! An axum application with an agent. The application owns the socket and has its own routes.
//!
//! ```sh
//! cargo run -p latimer-server --example embedded
//! curl -s localhost:8080/status
//! curl -s localhost:8080/a2a -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,
//!   "method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER",
//!   "parts":[{"text":"hello"}]}}}'
//! ```

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use latimer_server::{AgentFailure, AssembledServer, Server, Turn};
use tokio::net::TcpListener;

/// Replies in upper case.
async fn shout(turn: Turn) -> Result<(), AgentFailure> {
    turn.reply(turn.text().to_uppercase()).await?;
    Ok(())
}

/// Starts the agent, without a socket.
async fn start_agent() -> latimer_server::Result<AssembledServer> {
    Server::agent("shouter", shout).public_url("http://localhost:8080").assemble().await
}

/// Adds the routes of the agent to those of the application.
fn application(agent: &AssembledServer) -> Router {
    let handle = agent.handle();
    let status = async move || format!("{} turns\n", handle.activity().turns);
    Router::new().route("/status", get(status)).merge(agent.router())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = start_agent().await?;
    let service = application(&agent).into_make_service_with_connect_info::<SocketAddr>();
    let socket = TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(socket, service)
        .with_graceful_shutdown(async move {
            let _ = tokio::signal::ctrl_c().await;
            agent.handle().drain(Duration::from_secs(30)).await;
        })
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower_service::Service;

    use super::*;

    async fn send(app: &mut Router, request: Request<Body>) -> String {
        let response = app.call(request).await.unwrap();
        let body = to_bytes(response.into_body(), 1024 * 1024).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn application_serves_its_route_and_the_agent() {
        let agent = start_agent().await.unwrap();
        let mut app = application(&agent);
        let status = Request::get("http://localhost:8080/status").body(Body::empty()).unwrap();
        assert_eq!(send(&mut app, status).await, "0 turns\n");
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
            {"messageId":"1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
        let call = Request::post("http://localhost:8080/a2a")
            .header("content-type", "application/json")
            .body(call.into())
            .unwrap();
        assert!(send(&mut app, call).await.contains("HELLO"));
    }
}
