//! Shared fixtures: a server on a free port, a client, a log and a scripted service.

mod client;
mod log;
mod script;

pub(crate) use client::{TestClient, TestResponse, read_response, send_http2};
pub(crate) use log::Log;
pub(crate) use script::ScriptedService;

use std::time::{Duration, Instant};

use latimer_server::{Agent, RunningServer, Server, Settings, Turn};

/// A running server and a client for it.
pub(crate) struct TestServer {
    pub(crate) running: RunningServer,
    pub(crate) client: TestClient,
}

impl std::ops::Deref for TestServer {
    type Target = TestClient;

    fn deref(&self) -> &TestClient {
        &self.client
    }
}

/// Starts a server on a free port.
pub(crate) async fn start_server(server: Server) -> TestServer {
    let running = server.bind("127.0.0.1:0").listen().await.expect("the server runs");
    let client = TestClient::new(running.address());
    TestServer { running, client }
}

/// Agent that replies in upper case. `ask` requests input, `say` replies directly, `wait` runs
/// until it is canceled.
pub(crate) fn test_agent(name: &str) -> Agent {
    Agent::from_fn(name, |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.request_input("which one?").await,
            "say" => turn.direct_reply("just so").await,
            "wait" => {
                turn.set_working().await?;
                turn.cancellation_token().cancelled().await;
                Ok(())
            }
            text => {
                turn.progress("thinking").await?;
                turn.reply(text.to_uppercase()).await
            }
        }
    })
    .with_direct_replies()
    .description("Converts text to upper case")
}

/// Creates a server of the test agent with these settings.
pub(crate) fn shouter_server(settings: Settings) -> Server {
    Server::new(test_agent("shouter")).settings(settings)
}

/// Polls a condition until it is true.
///
/// # Panics
/// After 30 seconds of real time. A timer would not fire under a paused clock, which advances only
/// while the runtime is idle.
pub(crate) async fn wait_until(condition: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_true().await {
        assert!(Instant::now() < deadline, "timed out waiting until {condition}");
        tokio::task::yield_now().await;
    }
}

/// Returns a JSON-RPC 1.0 request that sends a message.
pub(crate) fn send_body(method: &str, text: &str) -> String {
    let message = message(text);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{message}}}}}"#)
}

/// Returns a 1.0 message with a new id.
pub(crate) fn message(text: &str) -> String {
    format!(r#"{{"messageId":"{}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}"#, next_id())
}

/// Returns a 0.3 message with a new id.
pub(crate) fn v0_3_message(text: &str) -> String {
    let id = next_id();
    format!(
        r#"{{"kind":"message","messageId":"{id}","role":"user","parts":[{{"kind":"text","text":"{text}"}}]}}"#
    )
}

fn next_id() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
