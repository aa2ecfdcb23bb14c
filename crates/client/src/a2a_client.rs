//! A client that takes a URL with every call.

use std::collections::HashMap;

use latimer_protocol::card::AgentCard;
use latimer_protocol::{ContextId, InvalidField, SendMessageResponse, Task, TaskId, Version};
use parking_lot::Mutex;

use crate::client::{Client, user_message};
use crate::error::Error;

/// Number of agents whose clients are cached.
const MAX_CLIENTS: usize = 64;

/// Calls agents of version 0.1: `tasks/send` over JSON-RPC, with the URL as an argument of each
/// call.
///
/// Reads replies with and without an envelope, and tasks in every form that 0.1 servers send. All
/// other features are those of [`Client`].
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
    /// Creates a client with a timeout of 30 seconds per call.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fetches the card of the agent at `url`.
    ///
    /// # Errors
    /// [`Error::NoCard`] if there is none; otherwise the reason why it cannot be fetched.
    pub async fn discover(&self, url: &str) -> Result<AgentCard, Error> {
        let card = Client::builder(url).card().await?;
        Ok(card.as_ref().clone())
    }

    /// Sends a text to the agent at `url`, in the context `session` if one is given.
    ///
    /// # Errors
    /// See [`Error`]; [`Error::InvalidResponse`] if the agent replies without a task.
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
                let problem = "the reply is a message, not a task";
                Err(Error::InvalidResponse { origin: "the agent".into(), problem: problem.into() })
            }
        }
    }

    /// Fetches a task of the agent at `url`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn get_task(&self, url: &str, id: &str) -> Result<Task, Error> {
        let id = TaskId::new(id).map_err(|error| invalid_parameter("id", &error))?;
        Ok(self.client_for(url)?.get_task(id).await?.as_ref().clone())
    }

    /// Returns the cached client of a URL, which reuses its connections.
    fn client_for(&self, url: &str) -> Result<Client, Error> {
        let mut clients = self.clients.lock();
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
