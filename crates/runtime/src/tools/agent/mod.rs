//! An agent elsewhere as a tool.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `found` | the agent: looked for once for all who call, kept, forgotten after an error |
//! | `arguments` | what it is told |
//! | `errand` | a message to it, until there is an answer or nobody wants one |
//! | `pending` | those that take longer than a call waits |
//! | `answer` | what it said, as what came of the call |

mod answer;
mod arguments;
mod errand;
mod found;
mod pending;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use latimer_client::{CardSource, ClientBuilder, Error as ClientError, user_message};
use latimer_protocol::{ContextId, Message, SendMessageResponse, TaskId};
use serde_json::{Map, Value};
use tokio::time::timeout;

use self::arguments::Arguments;
use self::errand::{Ended, Errand};
use self::found::Finder;
use self::pending::{Call, Pending};
use super::{Code, Definition, Occasion, Output, Tool, ToolError};
use crate::remote::{Contexts, Path, place};

/// The capability of tools that call other machines.
pub const NETWORK_FETCH: &str = "network:fetch";

/// What the names of agents as tools begin with.
const PREFIX: &str = "a2a_";

/// How long a name may be: model APIs take no more.
const MAX_NAME: usize = 64;

/// How long a call waits for its agent, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent elsewhere as a tool, `a2a_` and its name.
///
/// It takes a `message`, and the `contextId` of an earlier result to go on with a conversation. When
/// the agent asks for something, that is the result, with a state that says so; the next call in the
/// same conversation is the answer. A task that failed or was declined is an error that is not worth
/// the same call again; whether another is, [`latimer_client::Error::is_transient`] knows.
///
/// A call does not wait for longer than a minute, or than it is [told to](Self::patience): then its
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
    unknown: String,
    /// What the tool is called on the way of a message.
    place: String,
    patience: Duration,
    finder: Finder,
    conversations: Contexts<Conversation>,
    pending: Pending,
}

/// A conversation, as the agent knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Conversation {
    context: ContextId,
    /// The task that asked for something, and waits.
    asks: Option<TaskId>,
}

impl AgentTool {
    /// The agent of this name at an address, or of a card.
    pub fn new(name: &str, source: impl Into<CardSource>) -> Self {
        let known = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let plain = name.chars().map(|it| if known(it) { it } else { '_' });
        let tool: String = PREFIX.chars().chain(plain).take(MAX_NAME).collect();
        Self {
            unknown: format!("Asks the agent {name}"),
            place: place(&tool),
            patience: PATIENCE,
            finder: Finder::new(&tool, source.into()),
            name: tool,
            conversations: Contexts::default(),
            pending: Pending::default(),
        }
    }

    /// Sets up the client that calls it: credentials, limits, versions. Done anew whenever the agent is
    /// looked for.
    #[must_use]
    pub fn client(
        mut self,
        set_up: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.finder.set_up = Arc::new(set_up);
        self
    }

    /// How long a call waits for its agent.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Looks for the agent now, if it is not known: from then on the definition says what its card
    /// says.
    ///
    /// # Errors
    /// When it is not found, or cannot be called.
    pub async fn connect(&self) -> Result<(), ToolError> {
        self.finder.find().await.map(drop)
    }

    /// What came of a call in a conversation, which is `ours` for whoever calls.
    fn came(
        &self,
        ended: Ended,
        call: Call,
        name: ContextId,
        ours: ContextId,
    ) -> Result<Output, ToolError> {
        let Call { found, known, .. } = call;
        match ended {
            Ended::Answered(answer) => {
                self.remember(name, known.after(&answer));
                let output = answer::output(&answer, &found)?;
                Ok(Output { context_id: Some(ours), ..output })
            }
            Ended::Failed(error) => {
                self.finder.forget(&found);
                if error.is_transient() {
                    self.remember(name, known);
                }
                Err(found.failure(error))
            }
            Ended::Stopped => Err(canceled()),
        }
    }

    /// Takes up a conversation, and its question if there is one: whoever comes next does not answer
    /// it again.
    fn take_up(&self, name: &ContextId) -> Conversation {
        let fresh = || Conversation { context: name.clone(), asks: None };
        let known = self.conversations.get(name).unwrap_or_else(fresh);
        if known.asks.is_some() {
            self.conversations.learn(name.clone(), Conversation { asks: None, ..known.clone() });
        }
        known
    }

    /// Remembers of a conversation what does not follow from its name.
    fn remember(&self, name: ContextId, known: Conversation) {
        if known.context != name || known.asks.is_some() {
            self.conversations.learn(name, known);
        }
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn definition(&self) -> Definition {
        let description = self.finder.last().map(|it| it.description.clone());
        Definition {
            name: self.name.clone(),
            description: description.unwrap_or_else(|| self.unknown.clone()),
            input_schema: Arguments::schema(),
            capabilities: vec![NETWORK_FETCH.to_owned()],
        }
    }

    async fn call(
        &self,
        arguments: Map<String, Value>,
        occasion: &Occasion,
    ) -> Result<Output, ToolError> {
        let Arguments { message, context } = Arguments::read(arguments)?;
        let astray = |it: &dyn fmt::Display| ToolError::new(Code::A2aError, it.to_string());
        let path = occasion.path().onward(&self.place).map_err(|it| astray(&it))?;
        let ours = context.unwrap_or_else(new_context);
        let name = occasion.context(&ours);
        let mut begun = self.pending.take(&name);
        let ended = timeout(self.patience, async {
            let call = match &mut begun {
                Some(call) => call,
                None => {
                    let found = self.finder.find().await?;
                    let known = self.take_up(&name);
                    let message = known.say(message, &path);
                    let errand = Errand::begin(found.client.clone(), message, occasion.cancelled());
                    begun.insert(Call { errand, found, known })
                }
            };
            Ok(call.errand.end().await)
        });
        match (occasion.cancelled().run_until_cancelled(ended).await, begun) {
            (Some(Ok(Ok(ended))), Some(call)) => self.came(ended, call, name, ours),
            (Some(Ok(Err(error))), _) => Err(error),
            (Some(Err(_)), Some(call)) => {
                let output = answer::unfinished(call.errand.task(), ours);
                self.pending.put(name, call);
                Ok(output)
            }
            (Some(Err(_)), None) => Err(unfound()),
            (_, call) => {
                if let Some(call) = call {
                    call.errand.stop().await;
                }
                Err(canceled())
            }
        }
    }
}

impl Conversation {
    /// Something that is said in it, on the way of a message.
    fn say(&self, text: String, path: &Path) -> Message {
        let mut message = user_message(text).with_context(self.context.clone());
        message.task_id = self.asks.clone();
        path.mark(&mut message.metadata);
        message
    }

    /// The same conversation after an answer.
    fn after(self, answer: &SendMessageResponse) -> Self {
        let (context, asks) = match answer {
            SendMessageResponse::Message(message) => (message.context_id.clone(), None),
            SendMessageResponse::Task(task) => {
                let asks = task.status.state.is_interrupted().then(|| task.id.clone());
                (task.context_id.clone(), asks)
            }
        };
        Self { context: context.unwrap_or(self.context), asks }
    }
}

fn unfound() -> ToolError {
    ToolError::new(Code::A2aError, "the agent takes too long to be found").passing(None)
}

fn canceled() -> ToolError {
    ToolError::new(Code::A2aError, "the call was canceled")
}

/// A name for a conversation that nobody has named.
#[expect(clippy::expect_used, reason = "a UUID is neither empty nor too long")]
fn new_context() -> ContextId {
    ContextId::new(uuid::Uuid::now_v7().to_string()).expect("a UUID is an id")
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentTool").field("name", &self.name).finish_non_exhaustive()
    }
}
