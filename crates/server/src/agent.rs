//! Published agents: name, executor, card, policy and access rules.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use latimer_protocol::Message;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::Directive;
use tracing::warn;

use crate::auth::Access;
use crate::card_handle::CardHandle;
use crate::executor::{Executor, FnExecutor};
use crate::swarm::Swarm;
use crate::turn::{AgentFailure, Turn};

/// An agent to publish: a name, an executor, a card, an execution policy and an access rule.
///
/// Cheap to clone; clones share the executor and, unless one of them replaces its card with
/// [`Agent::with_card`], the card.
///
/// ```
/// use latimer_server::{Agent, Turn};
///
/// let agent = Agent::from_fn("upper", |turn: Turn| async move {
///     turn.reply(turn.text().to_uppercase()).await
/// })
/// .description("Converts text to upper case");
/// assert_eq!(**agent.name(), *"upper");
/// ```
#[derive(Clone, Debug)]
pub struct Agent {
    name: Arc<str>,
    executor: Arc<dyn Executor>,
    card_handle: CardHandle,
    extended_card: Option<AgentCard>,
    policy: Policy,
    access: Access,
    has_swarm: bool,
    /// Whether the log says that the agent replies directly although its policy does not allow it.
    direct_reply_logged: Arc<AtomicBool>,
}

impl Agent {
    /// Creates an agent. The name is also its tenant and a segment of its URL paths;
    /// [`AgentRegistry::new`] checks it. The card has the name, the version of this crate and no
    /// skills.
    pub fn new(name: impl Into<Arc<str>>, executor: impl Executor) -> Self {
        Self::from_shared(name, Arc::new(executor))
    }

    /// Creates an agent from an executor that is already shared; otherwise like [`Agent::new`].
    pub fn from_shared(name: impl Into<Arc<str>>, executor: Arc<dyn Executor>) -> Self {
        let name = name.into();
        let card = AgentCard {
            name: name.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..AgentCard::default()
        };
        let policy = executor.default_policy();
        Self {
            name,
            executor,
            card_handle: CardHandle::new(card),
            extended_card: None,
            policy,
            access: Access::default(),
            has_swarm: false,
            direct_reply_logged: Arc::default(),
        }
    }

    /// Creates an agent whose executor is a function. The function is called once per turn; a turn
    /// that was interrupted by a restart fails, as with [`Executor::recover`] by default.
    pub fn from_fn<F, R, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        Self::new(name, FnExecutor(function))
    }

    /// Sets the description in the card. Detaches the card from earlier [`Agent::card_handle`]s.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        let card = AgentCard { description: text.into(), ..(*self.card()).clone() };
        self.with_card(card)
    }

    /// Sets the public card. Detaches it from earlier [`Agent::card_handle`]s.
    ///
    /// The server sets the interfaces and capabilities to those that it serves. The card can only
    /// disable streaming or webhooks: see [`Agent::supports_streaming`] and
    /// [`Agent::supports_webhooks`].
    #[must_use]
    pub fn with_card(mut self, card: AgentCard) -> Self {
        self.card_handle = CardHandle::new(card);
        self
    }

    /// Sets a card that stands in until the executor [sets](CardHandle::set) the right one, such as that
    /// of a remote agent. Clients are told not to store it.
    #[must_use]
    pub fn with_placeholder_card(mut self, card: AgentCard) -> Self {
        self.card_handle = CardHandle::placeholder(card);
        self
    }

    /// Sets the card that authenticated callers get from `GetExtendedAgentCard`. Without one, and on
    /// servers without authentication, the operation fails.
    #[must_use]
    pub fn with_extended_card(mut self, card: AgentCard) -> Self {
        self.extended_card = Some(card);
        self
    }

    /// Replaces the execution policy, which is [`Executor::default_policy`] at first. To change one
    /// setting, start from [`Agent::policy`].
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Allows the agent to reply with messages instead of tasks: sets [`Policy::direct_replies`].
    #[must_use]
    pub fn with_direct_replies(mut self) -> Self {
        self.policy.direct_replies = true;
        self
    }

    /// Sets the callers that may use the agent. By default every caller that the server admits may
    /// use it. The allow list does not restrict the public card.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Routes the directives sent to this agent to a swarm handler.
    pub(crate) fn with_swarm(mut self, swarm: &Swarm) -> Self {
        self.executor = swarm.wrap(self.executor);
        self.has_swarm = true;
        self
    }

    /// Logs, once, that the agent replied directly although its policy does not allow it.
    pub(crate) fn warn_of_direct_reply(&self) {
        if !self.direct_reply_logged.swap(true, Ordering::Relaxed) {
            let agent = &*self.name;
            warn!(agent, "direct reply completed a task: set direct_replies in the agent's policy");
        }
    }

    /// Returns whether a message is a directive for the swarm handler. False for agents without a
    /// handler.
    pub(crate) fn is_directive(&self, message: &Message) -> bool {
        self.has_swarm && Directive::from_message(message).is_some()
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the executor.
    #[must_use]
    pub(crate) fn executor(&self) -> &Arc<dyn Executor> {
        &self.executor
    }

    /// Returns the current public card, without interfaces.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        self.card_handle.card()
    }

    /// Returns the handle through which the public card can be replaced while the agent is served.
    #[must_use]
    pub fn card_handle(&self) -> &CardHandle {
        &self.card_handle
    }

    /// Returns the extended card, if there is one.
    #[must_use]
    pub fn extended_card(&self) -> Option<&AgentCard> {
        self.extended_card.as_ref()
    }

    /// Returns whether callers can stream replies and subscribe to tasks. False only if the card
    /// has `streaming: false`; the server then rejects streaming calls.
    #[must_use]
    pub fn supports_streaming(&self) -> bool {
        self.card().capabilities.streaming != Some(false)
    }

    /// Returns whether callers can register webhooks for tasks, provided that the server delivers
    /// webhooks. False only if the card has `pushNotifications: false`.
    #[must_use]
    pub fn supports_webhooks(&self) -> bool {
        self.card().capabilities.push_notifications != Some(false)
    }

    /// Returns the rule that decides which callers may use the agent.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the execution policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// Execution settings of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Concurrency of the tasks in one context.
    pub context_concurrency: ContextConcurrency,
    /// Maximum number of turns that run at the same time, for all callers. Further messages are
    /// queued; their turns start for the callers in rotation. One in eight is reserved for callers
    /// without a running turn. `None` sets no limit.
    pub max_concurrent: Option<usize>,
    /// Maximum number of queued messages, with [`Self::max_concurrent`]. Further messages are
    /// rejected before they are recorded. One caller can fill half of the queue, and each further
    /// caller half of the remainder.
    pub max_queued: usize,
    /// Maximum time that a blocking send waits for a settled task. Afterwards it returns the task in
    /// its current state, and the turn continues.
    pub max_wait: Duration,
    /// Maximum duration of a turn. Afterwards the task fails. `None` sets no limit.
    pub turn_timeout: Option<Duration>,
    /// Time for which the executor may continue after its task was canceled or its result was final.
    /// Afterwards the engine drops the executor's future.
    pub cancel_grace: Duration,
    /// Time for which an identical message is treated as a retry and returns the original result.
    /// Zero disables deduplication.
    pub idempotency_window: Duration,
    /// Whether the agent may reply with a message instead of a task.
    ///
    /// Without direct replies, every reply is a task, which callers see as soon as the agent has to
    /// wait for something; a direct reply completes it. With them, the task of a new message is held
    /// until the agent emits anything else: callers cannot find it, and a direct reply removes it.
    pub direct_replies: bool,
    /// When the message of a turn is recorded.
    pub record: Record,
    /// Whether messages with media types that the input modes of the card do not cover are rejected
    /// before the agent gets them. Otherwise the agent rejects what it cannot read.
    pub enforce_input_modes: bool,
}

/// When the message of a turn is recorded, so that a restart and a resend find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Record {
    /// When the executor has been called and waits for something. What it does before is done again
    /// by a resend after a crash. For agents without effects outside the process.
    #[default]
    WhenPending,
    /// Before the executor is called. A resend never runs the agent twice. For agents with effects
    /// outside the process; costs one more append for each turn.
    BeforeStart,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            context_concurrency: ContextConcurrency::Parallel,
            max_concurrent: None,
            max_queued: 256,
            max_wait: Duration::from_secs(600),
            turn_timeout: None,
            cancel_grace: Duration::from_secs(5),
            idempotency_window: Duration::from_secs(300),
            direct_replies: false,
            record: Record::WhenPending,
            enforce_input_modes: true,
        }
    }
}

/// Concurrency of the tasks in one context. It does not delay or reject follow-ups to an interrupted
/// task; [`Policy::max_concurrent`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextConcurrency {
    /// Tasks run concurrently.
    #[default]
    Parallel,
    /// Tasks run one at a time, in order of arrival.
    Queue,
    /// A message is rejected while another task of the context is running.
    Reject,
}

/// The agents of a server, in order and by name. One of them is the primary agent: it serves calls
/// that name no agent.
///
/// ```
/// use latimer_server::{Agent, AgentRegistry, Turn};
///
/// let agents = ["first", "second"].map(|name| {
///     Agent::from_fn(name, |turn: Turn| async move { turn.reply(turn.text()).await })
/// });
/// let registry = AgentRegistry::new(agents)?.with_primary("second")?;
/// assert_eq!(registry.primary().map(|it| &**it.name()), Some("second"));
/// # Ok::<(), latimer_server::InvalidAgents>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AgentRegistry {
    agents: Vec<Arc<Agent>>,
    by_name: HashMap<Arc<str>, usize>,
    primary: usize,
}

impl AgentRegistry {
    /// Creates a registry of agents. The first one is the primary agent.
    ///
    /// # Errors
    /// Fails if two agents have the same name, or if a name is not 1 to 64 letters, digits, `-`,
    /// `_` and `.`, starts with `.`, or is reserved for URL paths.
    pub fn new(agents: impl IntoIterator<Item = Agent>) -> Result<Self, InvalidAgents> {
        let mut registry = Self::default();
        for agent in agents {
            check_name(&agent.name)?;
            let index = registry.agents.len();
            if registry.by_name.insert(agent.name.clone(), index).is_some() {
                return Err(InvalidAgents(format!("two agents are named {:?}", agent.name)));
            }
            registry.agents.push(Arc::new(agent));
        }
        Ok(registry)
    }

    /// Selects the primary agent.
    ///
    /// # Errors
    /// Fails if no agent has this name.
    pub fn with_primary(mut self, name: &str) -> Result<Self, InvalidAgents> {
        let unknown = || InvalidAgents(format!("the primary agent {name:?} does not exist"));
        self.primary = *self.by_name.get(name).ok_or_else(unknown)?;
        Ok(self)
    }

    /// Returns the agent that serves calls without an agent name. `None` only if there are no
    /// agents.
    #[must_use]
    pub fn primary(&self) -> Option<&Arc<Agent>> {
        self.agents.get(self.primary)
    }

    /// Returns the agent with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Agent>> {
        self.by_name.get(name).map(|index| &self.agents[*index])
    }

    /// Returns all agents, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        self.agents.iter()
    }

    /// Returns the number of agents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Returns whether there are no agents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}

/// Names of agents conflict or are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAgents(String);

/// URL path segments with another meaning.
const RESERVED_NAMES: [&str; 4] = ["agents", "tasks", "v1", "extendedAgentCard"];

fn check_name(name: &str) -> Result<(), InvalidAgents> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let problem = if name.is_empty() || name.len() > 64 {
        "must have 1 to 64 characters"
    } else if !name.bytes().all(is_allowed) || name.starts_with('.') {
        "may contain only letters, digits, '-', '_' and '.', and must not start with '.'"
    } else if RESERVED_NAMES.contains(&name) {
        "is reserved: it has another meaning in URL paths"
    } else {
        return Ok(());
    };
    Err(InvalidAgents(format!("the agent name {name:?} {problem}")))
}

impl fmt::Display for ContextConcurrency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Parallel => "parallel",
            Self::Queue => "queue",
            Self::Reject => "reject",
        })
    }
}
