//! An agent elsewhere as a tool.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `found` | the agent: looked for once for all who call, kept, forgotten after an error |
//! | `arguments` | what it is told |
//! | `errand` | a message to it, until there is an answer or nobody wants one |
//! | `pending` | those that take longer than a call waits |
//! | `answer` | what it said, as what came of the call |

mod arguments;
mod call;
mod connector;
mod detached_calls;
mod output;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use latimer_client::{CardSource, ClientBuilder, Error as ClientError, user_message};
use latimer_protocol::{ContextId, Message, SendMessageResponse, TaskId};
use serde_json::{Map, Value};
use tokio::time::timeout;

use self::arguments::Arguments;
use self::call::{AgentCall, CallOutcome};
use self::connector::AgentConnector;
use self::detached_calls::{DetachedCall, DetachedCalls};
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorCode, ToolOutput};
use crate::peer::context_cache::ContextCache;
use crate::peer::hops::{HopPath, hop_id};

/// The capability of tools that call other machines.
pub const NETWORK_FETCH: &str = "network:fetch";

/// What the names of agents as tools begin with.
const TOOL_NAME_PREFIX: &str = "a2a_";

/// How long a name may be: model APIs take no more.
const MAX_TOOL_NAME_CHARS: usize = 64;

/// How long a call waits for its agent, unless told otherwise.
const DEFAULT_MAX_WAIT: Duration = Duration::from_secs(60);

/// An agent elsewhere as a tool, `a2a_` and its name.
///
/// It takes a `message`, and the `contextId` of an earlier result to go on with a conversation. When
/// the agent asks for something, that is the result, with a state that says so; the next call in the
/// same conversation is the answer. A task that failed or was declined is an error that is not worth
/// the same call again; whether another is, [`latimer_client::Error::is_transient`] knows.
///
/// A call does not wait for longer than a minute, or than it is [told to](Self::max_wait): then its
/// result is the task, with a state that says that the agent is at it. The next call in the same
/// conversation waits for what comes of that, and what it says is not sent.
///
/// The agent is looked for at the first call, and its card is kept. After an error both are forgotten:
/// the next call looks for them again.
///
/// ```
/// use latimer_runtime::tools::{AgentTool, Tool};
///
/// let tool = AgentTool::new("weather.oslo", "https://weather.example.com");
/// assert_eq!(tool.definition().name, "a2a_weather_oslo");
/// ```
pub struct AgentTool {
    name: String,
    /// What is said of the agent before its card is known.
    default_description: String,
    /// What the tool is called on the way of a message.
    hop_id: String,
    max_wait: Duration,
    connector: AgentConnector,
    contexts: ContextCache<ContextState>,
    detached: DetachedCalls,
}

/// A conversation, as the agent knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContextState {
    context_id: ContextId,
    /// The task that asked for something, and waits.
    input_request: Option<TaskId>,
}

impl AgentTool {
    /// The agent of this name at an address, or of a card.
    pub fn new(name: &str, source: impl Into<CardSource>) -> Self {
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let sanitized = name.chars().map(|it| if is_allowed(it) { it } else { '_' });
        let tool_name: String =
            TOOL_NAME_PREFIX.chars().chain(sanitized).take(MAX_TOOL_NAME_CHARS).collect();
        Self {
            default_description: format!("Asks the agent {name}"),
            hop_id: hop_id(&tool_name),
            max_wait: DEFAULT_MAX_WAIT,
            connector: AgentConnector::new(&tool_name, source.into()),
            name: tool_name,
            contexts: ContextCache::default(),
            detached: DetachedCalls::default(),
        }
    }

    /// Sets up the client that calls it: credentials, limits, versions. Done anew whenever the agent is
    /// looked for.
    #[must_use]
    pub fn configure_client(
        mut self,
        configure: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.connector.configure = Arc::new(configure);
        self
    }

    /// How long a call waits for its agent.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Looks for the agent now, if it is not known: from then on the definition says what its card
    /// says.
    ///
    /// # Errors
    /// When it is not found, or cannot be called.
    pub async fn connect(&self) -> Result<(), ToolError> {
        self.connector.connect().await.map(drop)
    }

    /// What came of a call in a conversation, which is `ours` for whoever calls.
    fn finish(
        &self,
        outcome: CallOutcome,
        call: DetachedCall,
        context_key: ContextId,
        context_id: ContextId,
    ) -> Result<ToolOutput, ToolError> {
        let DetachedCall { agent, context_state, .. } = call;
        match outcome {
            CallOutcome::Replied(reply) => {
                self.store_context(context_key, context_state.after_reply(&reply));
                let output = output::from_reply(&reply, &agent)?;
                Ok(ToolOutput { context_id: Some(context_id), ..output })
            }
            CallOutcome::Failed(error) => {
                self.connector.invalidate(&agent);
                if error.is_transient() {
                    self.store_context(context_key, context_state);
                }
                Err(agent.tool_error(error))
            }
            CallOutcome::Canceled => Err(canceled()),
        }
    }

    /// Takes up a conversation, and its question if there is one: whoever comes next does not answer
    /// it again.
    fn take_context(&self, context_key: &ContextId) -> ContextState {
        let new_state = || ContextState { context_id: context_key.clone(), input_request: None };
        let context_state = self.contexts.get(context_key).unwrap_or_else(new_state);
        if context_state.input_request.is_some() {
            self.contexts.insert(
                context_key.clone(),
                ContextState { input_request: None, ..context_state.clone() },
            );
        }
        context_state
    }

    /// Remembers of a conversation what does not follow from its name.
    fn store_context(&self, context_key: ContextId, context_state: ContextState) {
        if context_state.context_id != context_key || context_state.input_request.is_some() {
            self.contexts.insert(context_key, context_state);
        }
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn definition(&self) -> ToolDefinition {
        let description = self.connector.last_agent().map(|it| it.description.clone());
        ToolDefinition {
            name: self.name.clone(),
            description: description.unwrap_or_else(|| self.default_description.clone()),
            input_schema: Arguments::schema(),
            capabilities: vec![NETWORK_FETCH.to_owned()],
        }
    }

    async fn call(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let Arguments { message, context_id } = Arguments::parse(arguments)?;
        let hop_error =
            |it: &dyn fmt::Display| ToolError::new(ToolErrorCode::A2aError, it.to_string());
        let hop_path = context.hop_path().push(&self.hop_id).map_err(|it| hop_error(&it))?;
        let context_id = context_id.unwrap_or_else(new_context_id);
        let context_key = context.upstream_context_id(&context_id);
        let mut pending_call = self.detached.take(&context_key);
        let outcome = timeout(self.max_wait, async {
            let call = match &mut pending_call {
                Some(call) => call,
                None => {
                    let agent = self.connector.connect().await?;
                    let context_state = self.take_context(&context_key);
                    let message = context_state.build_message(message, &hop_path);
                    let agent_call = AgentCall::start(
                        agent.client.clone(),
                        message,
                        context.cancellation_token(),
                    );
                    pending_call.insert(DetachedCall { agent_call, agent, context_state })
                }
            };
            Ok(call.agent_call.wait().await)
        });
        match (context.cancellation_token().run_until_cancelled(outcome).await, pending_call) {
            (Some(Ok(Ok(outcome))), Some(call)) => {
                self.finish(outcome, call, context_key, context_id)
            }
            (Some(Ok(Err(error))), _) => Err(error),
            (Some(Err(_)), Some(call)) => {
                let output = output::still_running(call.agent_call.task_id(), context_id);
                self.detached.put(context_key, call);
                Ok(output)
            }
            (Some(Err(_)), None) => Err(discovery_timed_out()),
            (_, call) => {
                if let Some(call) = call {
                    call.agent_call.cancel().await;
                }
                Err(canceled())
            }
        }
    }
}

impl ContextState {
    /// Something that is said in it, on the way of a message.
    fn build_message(&self, text: String, hop_path: &HopPath) -> Message {
        let mut message = user_message(text).with_context(self.context_id.clone());
        message.task_id = self.input_request.clone();
        hop_path.write_to(&mut message.metadata);
        message
    }

    /// The same conversation after an answer.
    fn after_reply(self, reply: &SendMessageResponse) -> Self {
        let (context_id, input_request) = match reply {
            SendMessageResponse::Message(message) => (message.context_id.clone(), None),
            SendMessageResponse::Task(task) => {
                let input_request = task.status.state.is_interrupted().then(|| task.id.clone());
                (task.context_id.clone(), input_request)
            }
        };
        Self { context_id: context_id.unwrap_or(self.context_id), input_request }
    }
}

fn discovery_timed_out() -> ToolError {
    ToolError::new(ToolErrorCode::A2aError, "the agent takes too long to be found").retryable(None)
}

fn canceled() -> ToolError {
    ToolError::new(ToolErrorCode::A2aError, "the call was canceled")
}

/// A name for a conversation that nobody has named.
#[expect(clippy::expect_used, reason = "a UUID is neither empty nor too long")]
fn new_context_id() -> ContextId {
    ContextId::new(uuid::Uuid::now_v7().to_string()).expect("a UUID is an id")
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentTool").field("name", &self.name).finish_non_exhaustive()
    }
}
