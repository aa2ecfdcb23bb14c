//! A gateway that publishes a remote agent over every protocol version and binding.
//!
//! ```sh
//! cargo run -p latimer -- demo-server --listen 127.0.0.1:50052 &
//! cargo run -p latimer-runtime --example gateway
//! curl -s localhost:8080/.well-known/agent-card.json
//! ```

use latimer_client::Credentials;
use latimer_protocol::Secret;
use latimer_runtime::RemoteAgent;
use latimer_server::Server;

/// Creates a server that publishes the remote agent at `url`, called with a bearer token.
pub fn gateway(url: &str, token: &str) -> Server {
    let token = Secret::new(token);
    let remote = RemoteAgent::new(url).configure_client(move |client| {
        Ok(client.credentials(Credentials::bearer(token.clone())?))
    });
    Server::new(remote.into_agent("partner")).bind("127.0.0.1:8080")
}

#[tokio::main]
async fn main() -> latimer_server::Result<()> {
    gateway("http://127.0.0.1:50052", "t0ken").run().await
}
