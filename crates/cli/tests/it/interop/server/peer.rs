//! A server as seen by the client over one binding.

use std::time::Duration;

use latimer_client::outbound::Rules;
use latimer_client::{Client, ClientBuilder, Error, PollPolicy, RetryPolicy};
use latimer_protocol::card::{AgentInterface, ProtocolBinding};
use latimer_protocol::{ErrorKind, SendMessageResponse, Task, TaskId, TaskState, Version};

use super::call_target::CallTarget;
use super::checks::{CheckError, CheckResult, ensure, immediate_request};
use crate::interop::sdk::Binding;

/// Clients of two agents of one server, discovered by their cards: one with all features and a
/// minimal one.
pub(super) struct Peer<'a> {
    target: &'a CallTarget<'a>,
    pub(super) version: Version,
    pub(super) binding: Binding,
    pub(super) client: Client,
    /// Client of the agent without streaming and webhooks.
    pub(super) minimal_client: Client,
}

impl<'a> Peer<'a> {
    pub(super) async fn connect(
        target: &'a CallTarget<'a>,
        version: Version,
        binding: Binding,
    ) -> Self {
        let connect_to = async |port| {
            let client = builder(target, port, [version], binding).connect().await;
            client.unwrap_or_else(|error| panic!("{port}, {version}, {binding:?}: {error}"))
        };
        let (client, minimal_client) = (connect_to("http").await, connect_to("bare_http").await);
        Self { target, version, binding, client, minimal_client }
    }

    /// Creates another client of the agent, which supports these versions.
    pub(super) fn builder(&self, versions: impl IntoIterator<Item = Version>) -> ClientBuilder {
        builder(self.target, "http", versions, self.binding)
    }

    /// Creates another client of the agent, which does not read its card.
    pub(super) fn direct(&self, version: Version) -> Result<Client, Error> {
        let port = match self.binding {
            Binding::JsonRpc | Binding::Rest => "http",
            Binding::Grpc => "grpc",
        };
        builder(self.target, port, [version], self.binding).build()
    }

    /// Returns the interfaces in the card of the agent.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &AgentInterface> {
        self.client.card().into_iter().flat_map(|it| &it.supported_interfaces)
    }

    /// Cuts every open connection.
    pub(super) fn cut(&self) {
        self.target.cut();
    }

    pub(super) async fn send(&self, text: &str) -> Result<Task, CheckError> {
        into_task(self.client.send(latimer_client::user_message(text)).await?)
    }

    /// Sends a message, checks the state that its task ends in, and returns the task.
    pub(super) async fn send_expecting(
        &self,
        text: &str,
        state: TaskState,
    ) -> Result<Task, CheckError> {
        let task = self.send(text).await?;
        ensure(task.status.state == state, &format!("{text:?} ended with {:?}", task.status))?;
        Ok(task)
    }

    /// Starts a task without waiting for its end and returns its id.
    pub(super) async fn start_task(&self, text: &str) -> Result<TaskId, CheckError> {
        let task = into_task(self.client.send(immediate_request(text)).await?)?;
        ensure(
            !task.status.state.is_terminal(),
            &format!("the call waited for the end: {:?}", task.status),
        )?;
        Ok(task.id.clone())
    }

    /// Checks that a call was rejected for one of the reasons, as far as the binding distinguishes
    /// them.
    pub(super) fn check_rejected<T>(
        &self,
        result: Result<T, Error>,
        reasons: &[ErrorKind],
    ) -> CheckResult {
        let error = match result {
            Ok(_) => {
                return Err(
                    format!("the call succeeded instead of failing with {reasons:?}").into()
                );
            }
            Err(Error::Agent(error)) => error,
            Err(error) => return Err(format!("{error} instead of {reasons:?}").into()),
        };
        let actual = error.kind().codes(self.version);
        let matches = |reason: &ErrorKind| {
            let expected = reason.codes(self.version);
            match (self.version, self.binding) {
                (_, Binding::JsonRpc) => actual.jsonrpc == expected.jsonrpc,
                (Version::V1_0, _) => actual == expected,
                (_, Binding::Rest) => actual.http == expected.http,
                (_, Binding::Grpc) => actual.grpc == expected.grpc,
            }
        };
        let message = format!("{:?} ({error}) instead of {reasons:?}", error.kind());
        ensure(reasons.iter().any(matches), &message)
    }
}

fn builder(
    target: &CallTarget<'_>,
    port: &str,
    versions: impl IntoIterator<Item = Version>,
    binding: Binding,
) -> ClientBuilder {
    let binding = match binding {
        Binding::JsonRpc => ProtocolBinding::JsonRpc,
        Binding::Rest => ProtocolBinding::HttpJson,
        Binding::Grpc => ProtocolBinding::Grpc,
    };
    Client::builder(format!("http://{}", target.address(port)))
        .bindings([binding])
        .versions(versions)
        .guard_rules(Rules { allow_loopback: true, ..Rules::default() })
        .retry(RetryPolicy { initial_backoff: Duration::from_millis(20), ..RetryPolicy::default() })
        .polling(PollPolicy { interval: Duration::from_millis(50), max_polls: 600 })
}

/// Returns the task of a response.
pub(super) fn into_task(response: SendMessageResponse) -> Result<Task, CheckError> {
    match response {
        SendMessageResponse::Task(task) => Ok(task.as_ref().clone()),
        SendMessageResponse::Message(message) => Err(format!("no task, but {message:?}").into()),
    }
}
