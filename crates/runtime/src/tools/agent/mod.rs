//! Tool that calls a remote agent.
//!
//! | module | contents |
//! | --- | --- |
//! | `connector` | cached connection to the agent |
//! | `arguments` | arguments of the tool |
//! | `call` | one message to the agent, canceled on drop |
//! | `detached_calls` | calls that exceeded their maximum wait |
//! | `output` | conversion of the agent's reply to the output of the tool |

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
use tokio_util::task::TaskTracker;

use self::arguments::Arguments;
use self::call::{AgentCall, CallOutcome};
use self::connector::AgentConnector;
use self::detached_calls::{DetachedCall, DetachedCalls};
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorCode, ToolOutput};
use crate::peer::context_cache::ContextCache;
use crate::peer::hops::{HopPath, hop_id};

/// Capability of tools that call other machines.
pub const NETWORK_FETCH: &str = "network:fetch";

/// Prefix of the names of agent tools.
const TOOL_NAME_PREFIX: &str = "a2a_";

/// Maximum length of a tool name; model APIs accept no longer one.
const MAX_TOOL_NAME_CHARS: usize = 64;

/// Default maximum wait of a call.
const DEFAULT_MAX_WAIT: Duration = Duration::from_secs(60);

/// Tool that calls a remote agent. Its name is `a2a_` followed by the name of the agent.
///
/// The arguments are a `message`, and optionally the `contextId` of an earlier result to continue
/// that conversation. If the agent requires input, the output contains the question and the state
/// `input-required`, and the next call with that `contextId` is the answer. A failed or rejected
/// task is an error that is not retryable; other errors are retryable if
/// [`latimer_client::Error::is_transient`] returns true.
///
/// A call waits at most one minute, or [`max_wait`](Self::max_wait). After that its output has the
/// state `working`. The next call with the same `contextId` waits for the result of the running
/// task, and its message is not sent.
///
/// The first call fetches the agent's card and connects. An error drops the connection, and the
/// next call connects again.
///
/// ```
/// use latimer_runtime::tools::{AgentTool, NETWORK_FETCH, ToolContext, Toolbox};
/// use serde_json::{Map, json};
/// # use latimer_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let echo = latimer_runtime::EchoAgent::new_agent("echo");
/// # let server = Server::new(echo).bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", server.address());
/// let tools = Toolbox::new().grant(NETWORK_FETCH).with_tool(AgentTool::new("echo", &url))?;
/// let arguments = Map::from_iter([("message".to_owned(), json!("hello"))]);
/// let output = tools.call("a2a_echo", arguments, &ToolContext::default()).await?;
/// assert_eq!(output.text, "hello");
/// # Ok(())
/// # }
/// ```
pub struct AgentTool {
    name: String,
    /// Description until the card is known.
    default_description: String,
    /// Hop id of the tool in the path of its messages.
    hop_id: String,
    max_wait: Duration,
    connector: AgentConnector,
    context_cache: ContextCache<ContextState>,
    detached: DetachedCalls,
    /// Tasks of all calls. A task ends with its call; after the call is dropped, it may take up to ten
    /// seconds to cancel the agent's task. Nothing waits for these tasks: dropping the tool cancels
    /// the calls but does not abort them, the end of the runtime does.
    calls: TaskTracker,
}

/// State of a context at the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContextState {
    context_id: ContextId,
    /// Task that waits for input, if any.
    input_request: Option<TaskId>,
}

impl AgentTool {
    /// Creates a tool for the agent with this name, from its URL or card. Characters that tool
    /// names must not contain are replaced by `_`.
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
            context_cache: ContextCache::default(),
            detached: DetachedCalls::default(),
            calls: TaskTracker::new(),
        }
    }

    /// Sets the function that configures the client: credentials, limits, versions. It is called
    /// for every connection attempt.
    #[must_use]
    pub fn configure_client(
        mut self,
        configure: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.connector.configure_client = Arc::new(configure);
        self
    }

    /// Sets the maximum wait of a call. One minute by default.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Connects to the agent unless it is connected. Afterwards the definition contains the
    /// description from the agent's card.
    ///
    /// # Errors
    /// [`ToolError`] when the agent is not found or cannot be called.
    pub async fn connect(&self) -> Result<(), ToolError> {
        self.connector.connect().await.map(drop)
    }

    /// Converts the outcome of a call and updates the state of its context. `context_key`
    /// identifies the context per caller, `context_id` is the id in the output.
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
            CallOutcome::Panicked => {
                self.connector.invalidate(&agent);
                Err(ToolError::new(
                    ToolErrorCode::A2aError,
                    "the call failed unexpectedly; see the server log",
                ))
            }
        }
    }

    /// Returns the state of a context and clears its input request, so that only one call answers
    /// it.
    fn take_context(&self, context_key: &ContextId) -> ContextState {
        let new_state = || ContextState { context_id: context_key.clone(), input_request: None };
        let context_state = self.context_cache.get(context_key).unwrap_or_else(new_state);
        if context_state.input_request.is_some() {
            self.context_cache.insert(
                context_key.clone(),
                ContextState { input_request: None, ..context_state.clone() },
            );
        }
        context_state
    }

    /// Caches the state of a context, unless it equals the default state.
    fn store_context(&self, context_key: ContextId, context_state: ContextState) {
        if context_state.context_id != context_key || context_state.input_request.is_some() {
            self.context_cache.insert(context_key, context_state);
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
                        &self.calls,
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
    /// Builds the next message of the context, with its hop path.
    fn build_message(&self, text: String, hop_path: &HopPath) -> Message {
        let mut message = user_message(text).with_context(self.context_id.clone());
        message.task_id = self.input_request.clone();
        hop_path.write_to(&mut message.metadata);
        message
    }

    /// Returns the state after a reply.
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
    ToolError::new(ToolErrorCode::A2aError, "connecting to the agent timed out").retryable(None)
}

fn canceled() -> ToolError {
    ToolError::new(ToolErrorCode::A2aError, "the call was canceled")
}

/// Creates a random context id.
#[expect(clippy::expect_used, reason = "a UUID is neither empty nor too long")]
fn new_context_id() -> ContextId {
    ContextId::new(uuid::Uuid::now_v7().to_string()).expect("a UUID is an id")
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentTool").field("name", &self.name).finish_non_exhaustive()
    }
}
