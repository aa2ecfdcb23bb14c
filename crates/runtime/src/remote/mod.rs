//! An agent elsewhere, of any version and over any binding: the gateway.
//!
//! A turn is one message to the agent behind, and everything that agent says about it. What it says
//! becomes events of a task of ours, so that its streams resume and its webhooks are told whether it
//! can do that or not. Which task it is *there* is kept with the task *here*, out of sight: after a
//! restart the turn goes on with it.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `upstream` | the agent behind: found in the background, looked after, and left alone when it fails |
//! | `breaker` | the circuit breaker of the upstream |
//! | `outgoing` | the message that is sent upstream |
//! | `deferred`, `task_lookup` | blocking sends whose task is followed when the reply takes long |
//! | `relay`, `mirror` | upstream events as events of the local task, and what that task already has |
//! | `card` | the upstream's card as callers see it |

mod breaker;
mod card;
mod deferred;
mod mirror;
mod outgoing;
mod relay;
mod task_lookup;
mod upstream;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use latimer_client::{CardSource, ClientBuilder, Error as ClientError};
use latimer_protocol::Task;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::Directive;
use latimer_server::{Agent, AgentFailure, CardHandle, Executor, Health, Turn};
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use self::deferred::send_then_follow;
use self::outgoing::{TaskIdSource, UpstreamRequest};
use self::relay::Relay;
use self::upstream::Upstream;
use crate::peer::hops::{HopPath, hop_id};
use crate::peer::upstream_ids::UpstreamIds;

/// How long a call waits for an agent that has not been found yet.
const DISCOVERY_WAIT: Duration = Duration::from_secs(5);

/// How long a turn that was interrupted by a restart waits for it, and a task that is to be stopped.
const RECOVERY_WAIT: Duration = Duration::from_secs(120);

/// What those read who give directives. They would come with our credentials, as if we gave them.
const DIRECTIVES_NOT_FORWARDED: &str = "directives are for the server that gets them, and are not passed on to \
    the agent behind this one; send them to its own server";

/// An agent elsewhere, published as one of ours.
///
/// ```
/// use latimer_runtime::RemoteAgent;
///
/// let agent = RemoteAgent::new("https://partner.example.com").into_agent("partner");
/// assert_eq!(agent.card().name, "partner");
/// ```
pub struct RemoteAgent {
    upstream: Arc<Upstream>,
    /// What we are called on the way of a message.
    hop_id: OnceLock<String>,
    max_hops: u32,
    forwards_caller: bool,
    discovery: OnceLock<AbortOnDropHandle<()>>,
}

impl RemoteAgent {
    /// Number of agents a message may pass by default, this one included.
    pub const DEFAULT_MAX_HOPS: u32 = 8;

    /// The agent at an address, or of a card.
    pub fn new(source: impl Into<CardSource>) -> Self {
        Self {
            upstream: Arc::new(Upstream::new(source.into())),
            hop_id: OnceLock::new(),
            max_hops: Self::DEFAULT_MAX_HOPS,
            forwards_caller: false,
            discovery: OnceLock::new(),
        }
    }

    /// Sets up the client that calls it: credentials, limits, versions. Done anew whenever the agent is
    /// looked for.
    #[must_use]
    pub fn configure_client(
        mut self,
        configure: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.update_upstream(|it| it.configure = Box::new(configure));
        self
    }

    /// Changes what the agent says about itself before it is published.
    #[must_use]
    pub fn map_card(mut self, edit_card: impl Fn(&mut AgentCard) + Send + Sync + 'static) -> Self {
        self.update_upstream(|it| it.edit_card = Box::new(edit_card));
        self
    }

    /// Hides an address from callers, beside those that are called.
    #[must_use]
    pub fn redact_host(mut self, url: &str) -> Self {
        self.update_upstream(|it| it.redactor.add_url(url));
        self
    }

    /// How many agents a message may pass, this one included.
    #[must_use]
    pub fn max_hops(mut self, max_hops: u32) -> Self {
        self.max_hops = max_hops;
        self
    }

    /// Whether the agent is told who calls: by their name, in the member `userId` of a message's
    /// metadata, where nobody else can write one then. Otherwise it learns nothing of its callers but
    /// what they say themselves.
    #[must_use]
    pub fn forward_caller(mut self, enabled: bool) -> Self {
        self.forwards_caller = enabled;
        self
    }

    /// The agent under this name, with a card that says no more until the agent is found.
    #[must_use]
    pub fn into_agent(mut self, name: &str) -> Agent {
        self.update_upstream(|it| it.name = name.to_owned());
        let mut card = AgentCard {
            name: name.to_owned(),
            description: "An agent elsewhere, which has not been found yet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: vec!["*/*".to_owned()],
            default_output_modes: vec!["*/*".to_owned()],
            ..AgentCard::default()
        };
        (self.upstream.edit_card)(&mut card);
        Agent::new(name, self).with_card(card)
    }

    /// Looks for the agent under this name in the background, without publishing it, until what is
    /// returned is dropped. Says in the log when it is found, and when it is not.
    #[must_use]
    pub fn discover_in_background(mut self, name: &str) -> DiscoveryHandle {
        self.update_upstream(|it| it.name = name.to_owned());
        DiscoveryHandle { _discovery: self.upstream.start_discovery(None) }
    }

    fn update_upstream(&mut self, update: impl FnOnce(&mut Upstream)) {
        // Nobody else has it before it is published.
        if let Some(upstream) = Arc::get_mut(&mut self.upstream) {
            update(upstream);
        }
    }

    /// Our place on the way of a message: the agent's name, and which of all servers this is.
    fn hop_id(&self, turn: &Turn) -> &str {
        self.hop_id.get_or_init(|| hop_id(turn.agent()))
    }

    fn start_discovery(&self, card_handle: Option<&CardHandle>) {
        self.discovery.get_or_init(|| self.upstream.start_discovery(card_handle.cloned()));
    }
}

#[async_trait]
impl Executor for RemoteAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.start_discovery(None);
        if Directive::from_message(turn.message()).is_some() {
            return Ok(turn.reject(DIRECTIVES_NOT_FORWARDED).await?);
        }
        let hop_path =
            match HopPath::from_message(turn.message(), self.max_hops).push(self.hop_id(&turn)) {
                Ok(path) => path,
                Err(problem) => return Ok(turn.reject(problem.to_string()).await?),
            };
        let mut permit =
            self.upstream.acquire(DISCOVERY_WAIT).await.map_err(AgentFailure::reject_message)?;
        let client = permit.client(turn.extensions());
        let task_id_source = TaskIdSource::for_interface(client.interface());
        let mut outgoing =
            UpstreamRequest::for_turn(&turn, &hop_path, &self.upstream.contexts, task_id_source)
                .await?;
        if self.forwards_caller {
            outgoing.set_caller(turn.caller());
        }
        let UpstreamRequest { request, ids } = outgoing;
        let mut relay = Relay::new(&turn, &self.upstream, client.clone(), ids);
        // A stream costs many agents more than a reply.
        if turn.is_result_only() && turn.starts_context() {
            let reply = send_then_follow(&client, &self.upstream.task_lookup, request);
            return relay.run(reply, &mut permit).await;
        }
        relay.run(client.follow(request), &mut permit).await
    }

    /// Goes on with the task that the agent has been given, if that was known in time.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.start_discovery(None);
        let ids = turn.note().and_then(UpstreamIds::parse);
        let Some((ids, task_id)) = ids.and_then(|it| Some((it.clone(), it.task?))) else {
            return Err(AgentFailure::interrupted_by_restart());
        };
        let unreachable = |error: latimer_protocol::Error| AgentFailure::new(error.message());
        let mut permit = self.upstream.acquire(RECOVERY_WAIT).await.map_err(unreachable)?;
        let client = permit.client(turn.extensions());
        let follower = client.follow_task(task_id);
        let mut relay = Relay::new(&turn, &self.upstream, client, ids);
        relay.run(follower, &mut permit).await
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        let Some(task_id) = note.and_then(UpstreamIds::parse).and_then(|it| it.task) else {
            return;
        };
        // It goes on when nobody waits for it any more.
        let cancellation = tokio::spawn(Arc::clone(&self.upstream).cancel_task(task_id));
        if cancellation.await.is_err() {
            warn!(agent = self.upstream.name, task = %task.id, "the agent behind was not stopped");
        }
    }

    fn on_publish(&self, card_handle: &CardHandle) {
        self.start_discovery(Some(card_handle));
    }

    fn health(&self) -> Option<Health> {
        Some(self.upstream.health())
    }
}

/// Looks for an agent until it is dropped.
pub struct DiscoveryHandle {
    _discovery: AbortOnDropHandle<()>,
}

impl fmt::Debug for DiscoveryHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lookout")
    }
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Remote").field("agent", &self.upstream.name).finish_non_exhaustive()
    }
}
