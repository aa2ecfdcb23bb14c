//! An agent whose tasks survive a crash. If the process is killed in the middle of a task and started
//! again, the agent continues counting, and clients can resume their streams.
//!
//! ```sh
//! cargo run -p latimer-server --example durable
//! curl -s localhost:8080/a2a/message:send -H 'content-type: application/json' \
//!   -H 'a2a-version: 1.0' -d '{"message":{"messageId":"1","role":"ROLE_USER",
//!   "parts":[{"text":"30"}]},"configuration":{"returnImmediately":true}}'
//! # kill -9 the server, start it again, and then:
//! curl -sN localhost:8080/a2a/tasks/{id}:subscribe -H 'a2a-version: 1.0'
//! ```

use std::time::Duration;

use async_trait::async_trait;
use latimer_server::{Agent, AgentFailure, Executor, Server, Turn};
use latimer_store::{SqliteConfig, SqliteStore};

/// Counts up to the number in the message, one per second.
#[derive(Debug)]
struct Counter;

impl Counter {
    async fn count(&self, turn: Turn) -> Result<(), AgentFailure> {
        let end: usize = turn
            .text()
            .trim()
            .parse()
            .map_err(|_| AgentFailure::new("the message must be a number"))?;
        // After a restart, the task contains everything that became durable before.
        let artifact = turn.task().and_then(|it| it.artifacts.first());
        let (mut numbers, counted) = match artifact {
            Some(artifact) => (
                turn.artifact("numbers").with_id(artifact.artifact_id.clone()),
                artifact.parts.len(),
            ),
            None => (turn.artifact("numbers"), 0),
        };
        for number in counted + 1..=end {
            numbers.push(format!("{number} ")).await?;
            turn.flush().await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }
}

#[async_trait]
impl Executor for Counter {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.count(turn).await
    }

    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.count(turn).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join("latimer-durable.db");
    let store = SqliteStore::open(path, SqliteConfig::default())?;
    Server::new(Agent::new("counter", Counter)).store(store).bind("127.0.0.1:8080").run().await?;
    Ok(())
}
