//! An agent that streams its reply word by word. A client whose connection breaks can resume the
//! stream: `Last-Event-ID` names the last event that it received.
//!
//! ```sh
//! cargo run -p latimer-server --example streaming
//! curl -sN localhost:8080/a2a/message:stream -H 'content-type: application/json' \
//!   -H 'a2a-version: 1.0' -d '{"message":{"messageId":"1","role":"ROLE_USER",
//!   "parts":[{"text":"one two three four"}]}}'
//! curl -sN localhost:8080/a2a/tasks/{id}:subscribe -H 'a2a-version: 1.0' -H 'last-event-id: 3'
//! ```

use std::time::Duration;

use latimer_server::{AgentFailure, Server, Turn};

async fn read_aloud(turn: Turn) -> Result<(), AgentFailure> {
    turn.progress("starting").await?;
    let mut reading = turn.artifact("reading");
    for word in turn.text().split_whitespace() {
        tokio::time::sleep(Duration::from_millis(300)).await;
        reading.push(format!("{word} ")).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> latimer_server::Result<()> {
    Server::agent("reader", read_aloud).bind("127.0.0.1:8080").run().await
}
