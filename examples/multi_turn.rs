//! An agent that requires input. The first message creates a task, which waits for a second message
//! with the input.
//!
//! ```sh
//! cargo run -p latimer-server --example multi_turn
//! curl -s localhost:8080/a2a/message:send -H 'content-type: application/json' \
//!   -H 'a2a-version: 1.0' -d '{"message":{"messageId":"1","role":"ROLE_USER",
//!   "parts":[{"text":"book a table"}]}}'
//! curl -s localhost:8080/a2a/message:send -H 'content-type: application/json' \
//!   -H 'a2a-version: 1.0' -d '{"message":{"messageId":"2","taskId":"{id}","role":"ROLE_USER",
//!   "parts":[{"text":"for four"}]}}'
//! ```

use latimer_server::{AgentFailure, Server, Turn};

async fn book(turn: Turn) -> Result<(), AgentFailure> {
    // The history has the messages before this turn, so it is empty in the first one.
    let Some(request) = turn.history().first().map(|it| it.text()) else {
        turn.request_input("For how many people?").await?;
        return Ok(());
    };
    turn.reply(format!("Done: {request}, {}.", turn.text())).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> latimer_server::Result<()> {
    Server::agent("waiter", book).bind("127.0.0.1:8080").run().await
}
