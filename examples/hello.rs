//! A minimal agent that replies in upper case.
//!
//! ```sh
//! cargo run -p latimer-server --example hello
//! curl -s localhost:8080/a2a -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,
//!   "method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER",
//!   "parts":[{"text":"hello"}]}}}'
//! curl -s localhost:8080/.well-known/agent-card.json
//! ```

use latimer_server::{Server, Turn};

#[tokio::main]
async fn main() -> latimer_server::Result<()> {
    Server::agent("shouter", |turn: Turn| async move {
        turn.progress("thinking").await?;
        turn.reply(turn.text().to_uppercase()).await
    })
    .bind("127.0.0.1:8080")
    .run()
    .await
}
