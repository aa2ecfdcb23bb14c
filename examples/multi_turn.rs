//! An agent that asks back. The first message begins a task, which then waits for the answer: a
//! second message to the same task.
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
    // What was asked for first; none when this is it.
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
