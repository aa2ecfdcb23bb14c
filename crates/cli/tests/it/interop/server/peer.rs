//! A server as our client sees it over one binding.

use std::time::Duration;

use latimer_client::outbound::Rules;
use latimer_client::{Client, ClientBuilder, Error, PollPolicy, RetryPolicy};
use latimer_protocol::card::{AgentInterface, ProtocolBinding};
use latimer_protocol::{ErrorKind, SendMessageResponse, Task, TaskId, TaskState, Version};

use super::checks::{Checked, Problem, begin, that};
use super::front::Front;
use crate::interop::sdk::Binding;

/// An agent that can do everything, and one that can do little, each found by its card.
pub(super) struct Peer<'a> {
    front: &'a Front<'a>,
    pub(super) version: Version,
    pub(super) binding: Binding,
    pub(super) client: Client,
    /// A client of the agent that has neither streams nor webhooks.
    pub(super) bare: Client,
}

impl<'a> Peer<'a> {
    pub(super) async fn connect(front: &'a Front<'a>, version: Version, binding: Binding) -> Self {
        let find = async |port| {
            let client = builder(front, port, [version], binding).connect().await;
            client.unwrap_or_else(|error| panic!("{port}, {version}, {binding:?}: {error}"))
        };
        let (client, bare) = (find("http").await, find("bare_http").await);
        Self { front, version, binding, client, bare }
    }

    /// Another client of the agent, which speaks these versions.
    pub(super) fn builder(&self, versions: impl IntoIterator<Item = Version>) -> ClientBuilder {
        builder(self.front, "http", versions, self.binding)
    }

    /// Another client of the agent, which does not look at its card.
    pub(super) fn direct(&self, version: Version) -> Result<Client, Error> {
        let port = match self.binding {
            Binding::JsonRpc | Binding::Rest => "http",
            Binding::Grpc => "grpc",
        };
        builder(self.front, port, [version], self.binding).build()
    }

    /// Every way to call the agent, as its card has it.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &AgentInterface> {
        self.client.card().into_iter().flat_map(|it| &it.supported_interfaces)
    }

    /// Cuts every connection there is.
    pub(super) fn cut(&self) {
        self.front.cut();
    }

    pub(super) async fn send(&self, text: &str) -> Result<Task, Problem> {
        task(self.client.send(latimer_client::user_message(text)).await?)
    }

    /// Sends a message, checks the state that its task ends in, and returns the task.
    pub(super) async fn send_until(&self, text: &str, state: TaskState) -> Result<Task, Problem> {
        let task = self.send(text).await?;
        that(task.status.state == state, &format!("{text:?} came to {:?}", task.status))?;
        Ok(task)
    }

    /// Begins a task that goes on, and returns its id.
    pub(super) async fn begin(&self, text: &str) -> Result<TaskId, Problem> {
        let task = task(self.client.send(begin(text)).await?)?;
        that(!task.status.state.is_terminal(), &format!("it waited: {:?}", task.status))?;
        Ok(task.id.clone())
    }

    /// Checks that a call was refused for one of some reasons, as far as the wire can tell them from
    /// others.
    pub(super) fn refused<T>(&self, result: Result<T, Error>, reasons: &[ErrorKind]) -> Checked {
        let error = match result {
            Ok(_) => return Err(format!("it was done, and not refused: {reasons:?}").into()),
            Err(Error::Agent(error)) => error,
            Err(error) => return Err(format!("{error} instead of {reasons:?}").into()),
        };
        let said = error.kind().codes(self.version);
        let same = |reason: &ErrorKind| {
            let want = reason.codes(self.version);
            match (self.version, self.binding) {
                (_, Binding::JsonRpc) => said.jsonrpc == want.jsonrpc,
                (Version::V1_0, _) => said == want,
                (_, Binding::Rest) => said.http == want.http,
                (_, Binding::Grpc) => said.grpc == want.grpc,
            }
        };
        let otherwise = format!("{:?} ({error}) instead of {reasons:?}", error.kind());
        that(reasons.iter().any(same), &otherwise)
    }
}

fn builder(
    front: &Front<'_>,
    port: &str,
    versions: impl IntoIterator<Item = Version>,
    binding: Binding,
) -> ClientBuilder {
    let binding = match binding {
        Binding::JsonRpc => ProtocolBinding::JsonRpc,
        Binding::Rest => ProtocolBinding::HttpJson,
        Binding::Grpc => ProtocolBinding::Grpc,
    };
    Client::builder(format!("http://{}", front.address(port)))
        .bindings([binding])
        .versions(versions)
        .guard_rules(Rules { allow_loopback: true, ..Rules::default() })
        .retry(RetryPolicy { initial_backoff: Duration::from_millis(20), ..RetryPolicy::default() })
        .polling(PollPolicy { interval: Duration::from_millis(50), max_polls: 600 })
}

/// The task that a message came to.
pub(super) fn task(sent: SendMessageResponse) -> Result<Task, Problem> {
    match sent {
        SendMessageResponse::Task(task) => Ok(task.as_ref().clone()),
        SendMessageResponse::Message(message) => Err(format!("no task, but {message:?}").into()),
    }
}
