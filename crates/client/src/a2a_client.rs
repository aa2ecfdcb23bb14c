//! A client that is given an address with every call, as the oldest agents are called.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use latimer_protocol::card::AgentCard;
use latimer_protocol::{ContextId, InvalidField, SendMessageResponse, Task, TaskId, Version};

use crate::client::{Client, user_message};
use crate::error::Error;

/// How many agents are remembered.
const MAX_CLIENTS: usize = 64;

/// Calls agents in the oldest style: `tasks/send` over JSON-RPC, at an address that each call names.
///
/// What it is answered may have an envelope or none, and a task any shape that it ever had. For
/// whatever else an agent can do, see [`Client`].
///
/// ```no_run
/// # async fn run() -> Result<(), latimer_client::Error> {
/// let client = latimer_client::A2aClient::new();
/// let url = "https://other-agent.example.com/a2a";
/// let task = client.send_task(url, "Analyze this dataset", Some("session-123")).await?;
/// println!("task {}: {}", task.id, task.status.state);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct A2aClient {
    clients: Mutex<HashMap<String, Client>>,
}

impl A2aClient {
    /// A client that gives each call 30 seconds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the card of the agent at an address.
    ///
    /// # Errors
    /// When there is none.
    pub async fn discover(&self, url: &str) -> Result<AgentCard, Error> {
        let card = Client::builder(url).card().await?;
        Ok(card.as_ref().clone())
    }

    /// Sends a text to the agent at an address, within a conversation if one is named.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn send_task(
        &self,
        url: &str,
        message: &str,
        session: Option<&str>,
    ) -> Result<Task, Error> {
        let mut message = user_message(message);
        let session = session.map(ContextId::new).transpose();
        message.context_id = session.map_err(|error| invalid_parameter("sessionId", &error))?;
        match self.client_for(url)?.send(message).await? {
            SendMessageResponse::Task(task) => Ok(task.as_ref().clone()),
            SendMessageResponse::Message(_) => {
                let problem = "it answers with a message, not a task";
                Err(Error::InvalidResponse { origin: "the agent".into(), problem: problem.into() })
            }
        }
    }

    /// Shows a task of the agent at an address.
    ///
    /// # Errors
    /// Whatever goes wrong: see [`Error`].
    pub async fn get_task(&self, url: &str, id: &str) -> Result<Task, Error> {
        let id = TaskId::new(id).map_err(|error| invalid_parameter("id", &error))?;
        Ok(self.client_for(url)?.get_task(id).await?.as_ref().clone())
    }

    /// The client of an address, which keeps its connections from call to call.
    fn client_for(&self, url: &str) -> Result<Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(url) {
            return Ok(client.clone());
        }
        let client = Client::builder(url).versions([Version::V0_1]).build()?;
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(url.to_owned(), client.clone());
        Ok(client)
    }
}

fn invalid_parameter(field: &str, problem: &dyn std::fmt::Display) -> Error {
    latimer_protocol::Error::from(InvalidField::new(field, problem.to_string())).into()
}
