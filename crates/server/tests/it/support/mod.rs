//! A server on a real socket, and a caller that sees every byte of what it answers.

mod client;
mod log;
mod script;

pub(crate) use client::{TestClient, TestResponse, read_response, send_http2};
pub(crate) use log::Log;
pub(crate) use script::ScriptedService;

use latimer_server::{Agent, RunningServer, Server, Settings, Turn};

/// A server that runs, and a way to call it.
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

/// Runs a server at any free port.
pub(crate) async fn start_server(server: Server) -> TestServer {
    let running = server.bind("127.0.0.1:0").listen().await.expect("the server runs");
    let client = TestClient::new(running.address());
    TestServer { running, client }
}

/// An agent that answers in capitals, asks when it is told `ask`, and never ends when told `wait`.
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
    .description("Shouts")
}

/// A server of the agent, set up as given.
pub(crate) fn shouter_server(settings: Settings) -> Server {
    Server::new(test_agent("shouter")).settings(settings)
}

/// A call of `SendMessage` or the like, in JSON-RPC of 1.0.
pub(crate) fn send_body(method: &str, text: &str) -> String {
    let message = message(text);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{message}}}}}"#)
}

/// A message of 1.0.
pub(crate) fn message(text: &str) -> String {
    format!(r#"{{"messageId":"{}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}"#, next_id())
}

/// A message of 0.3.
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
