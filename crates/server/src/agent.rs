//! An agent as it is published, and the list of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::Message;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::Directive;

use crate::auth::Access;
use crate::card_handle::CardHandle;
use crate::executor::{Executor, FnExecutor};
use crate::swarm::Swarm;
use crate::turn::{AgentFailure, Turn};

/// An agent to publish: a name, what stands behind it, a card and a policy.
///
/// ```
/// use latimer_server::{Agent, Turn};
///
/// let agent = Agent::from_fn("shouter", |turn: Turn| async move {
///     turn.reply(turn.text().to_uppercase()).await
/// })
/// .description("Says it louder");
/// assert_eq!(**agent.name(), *"shouter");
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
}

impl Agent {
    /// An agent of this name, which is also its tenant and a segment of its address.
    pub fn new(name: impl Into<Arc<str>>, executor: impl Executor) -> Self {
        Self::from_shared(name, Arc::new(executor))
    }

    /// The same, of what is shared already.
    pub fn from_shared(name: impl Into<Arc<str>>, executor: Arc<dyn Executor>) -> Self {
        let name = name.into();
        let card = AgentCard {
            name: name.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..AgentCard::default()
        };
        let (policy, access) = (Policy::default(), Access::default());
        let card_handle = CardHandle::new(card);
        Self { name, executor, card_handle, extended_card: None, policy, access, has_swarm: false }
    }

    /// An agent that is a function.
    pub fn from_fn<F, R, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        Self::new(name, FnExecutor(function))
    }

    /// Says what it is for.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        let card = AgentCard { description: text.into(), ..(*self.card()).clone() };
        self.with_card(card)
    }

    /// What it says about itself. Interfaces and capabilities are the server's to fill in: it knows
    /// what it serves. Only a card that says that it does not stream, or tells no
    /// webhooks, is believed: see [`Agent::supports_streaming`] and
    /// [`Agent::supports_webhooks`].
    #[must_use]
    pub fn with_card(mut self, card: AgentCard) -> Self {
        self.card_handle = CardHandle::new(card);
        self
    }

    /// What it says about itself to those who may know more.
    #[must_use]
    pub fn with_extended_card(mut self, card: AgentCard) -> Self {
        self.extended_card = Some(card);
        self
    }

    /// How it is to be run.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Who may use it: everybody whom the server lets in, unless this says otherwise. Its card is
    /// for all.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The same agent, whose directives somebody else is handed.
    pub(crate) fn with_swarm(mut self, swarm: &Swarm) -> Self {
        self.executor = swarm.wrap(self.executor);
        self.has_swarm = true;
        self
    }

    /// Whether a message to it is for somebody else: a directive, where there is a handler.
    pub(crate) fn is_directive(&self, message: &Message) -> bool {
        self.has_swarm && Directive::from_message(message).is_some()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What stands behind it.
    #[must_use]
    pub fn executor(&self) -> &Arc<dyn Executor> {
        &self.executor
    }

    /// What it says about itself, without addresses.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        self.card_handle.card()
    }

    /// Where what it says about itself can be changed.
    #[must_use]
    pub fn card_handle(&self) -> &CardHandle {
        &self.card_handle
    }

    /// What it says to those who may know more, if that is something else.
    #[must_use]
    pub fn extended_card(&self) -> Option<&AgentCard> {
        self.extended_card.as_ref()
    }

    /// Whether its answers can be streamed and its tasks subscribed to. They can, unless its card
    /// says `streaming: false`: such calls are refused then.
    #[must_use]
    pub fn supports_streaming(&self) -> bool {
        self.card().capabilities.streaming != Some(false)
    }

    /// Whether webhooks are told about its tasks, where the server does that at all. They are, unless
    /// its card says `pushNotifications: false`.
    #[must_use]
    pub fn supports_webhooks(&self) -> bool {
        self.card().capabilities.push_notifications != Some(false)
    }

    /// Who may use it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How it is to be run.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// How an agent is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What happens when several messages come to one conversation.
    pub context_concurrency: ContextConcurrency,
    /// How long a blocking send waits before it answers with the task as it stands.
    pub max_wait: Duration,
    /// How long one turn may take, if there is a limit.
    pub turn_timeout: Option<Duration>,
    /// How long an agent has to stop by itself when its task is canceled.
    pub cancel_grace: Duration,
    /// For how long a message that comes again gets the answer it got before. Zero: never.
    pub idempotency_window: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            context_concurrency: ContextConcurrency::Parallel,
            max_wait: Duration::from_secs(600),
            turn_timeout: None,
            cancel_grace: Duration::from_secs(5),
            idempotency_window: Duration::from_secs(300),
        }
    }
}

/// What happens when several messages come to one conversation. Answers to a task that asked for
/// them always go through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextConcurrency {
    /// They are worked on at the same time.
    #[default]
    Parallel,
    /// They are worked on one after the other, as they came.
    Queue,
    /// While one is worked on, others are refused.
    Reject,
}

/// The agents that are published.
#[derive(Clone, Debug, Default)]
pub struct AgentRegistry {
    agents: Vec<Arc<Agent>>,
    by_name: HashMap<Arc<str>, usize>,
    primary: usize,
}

impl AgentRegistry {
    /// The agents in their order; the first is the primary one.
    ///
    /// # Errors
    /// When two have one name, or a name cannot stand in an address.
    pub fn new(agents: impl IntoIterator<Item = Agent>) -> Result<Self, InvalidAgents> {
        let mut registry = Self::default();
        for agent in agents {
            check_name(&agent.name)?;
            let index = registry.agents.len();
            if registry.by_name.insert(agent.name.clone(), index).is_some() {
                return Err(InvalidAgents(format!("there are two agents named {:?}", agent.name)));
            }
            registry.agents.push(Arc::new(agent));
        }
        Ok(registry)
    }

    /// The same agents with another primary one.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn with_primary(mut self, name: &str) -> Result<Self, InvalidAgents> {
        let unknown = || InvalidAgents(format!("the primary agent {name:?} does not exist"));
        self.primary = *self.by_name.get(name).ok_or_else(unknown)?;
        Ok(self)
    }

    /// The agent that is meant when none is named.
    #[must_use]
    pub fn primary(&self) -> Option<&Arc<Agent>> {
        self.agents.get(self.primary)
    }

    /// The agent of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Agent>> {
        self.by_name.get(name).map(|index| &self.agents[*index])
    }

    /// All agents, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        self.agents.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}

/// Agents that cannot be published together, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidAgents(String);

/// Segments of addresses that mean something else.
const RESERVED_NAMES: [&str; 4] = ["agents", "tasks", "v1", "extendedAgentCard"];

fn check_name(name: &str) -> Result<(), InvalidAgents> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let problem = if name.is_empty() || name.len() > 64 {
        "must have 1 to 64 characters"
    } else if !name.bytes().all(is_allowed) || name.starts_with('.') {
        "may have only letters, digits, '-', '_' and '.', and not begin with '.'"
    } else if RESERVED_NAMES.contains(&name) {
        "is taken: it means something else in addresses"
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
