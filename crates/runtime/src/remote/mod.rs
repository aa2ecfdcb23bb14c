//! Gateway: publishes a remote agent of any version and binding.
//!
//! A turn sends one message to the upstream agent and relays all resulting events to a local task.
//! Streams of the local task can be resumed and its webhooks are delivered, whatever the upstream
//! agent supports. The upstream task id is stored in the note of the local task, so that a turn
//! resumes after a restart.
//!
//! | module | contents |
//! | --- | --- |
//! | `upstream` | the upstream agent: background discovery, client, circuit breaker, health |
//! | `breaker` | the circuit breaker of the upstream |
//! | `outgoing` | the message that is sent upstream |
//! | `deferred`, `task_lookup` | blocking sends that switch to following their task after a second |
//! | `relay`, `mirror` | relaying of upstream events, and what the local task already contains |
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
use latimer_server::{Agent, AgentFailure, CardHandle, Executor, Health, Policy, Record, Turn};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::warn;

use self::deferred::send_then_follow;
use self::outgoing::{TaskIdSource, UpstreamRequest};
use self::relay::Relay;
use self::upstream::Upstream;
use crate::peer::hops::{HopError, HopPath, hop_id};
use crate::peer::upstream_ids::UpstreamIds;

/// Maximum time that a call waits for an agent that has not been discovered yet.
const DISCOVERY_WAIT: Duration = Duration::from_secs(5);

/// Maximum time that a turn that resumes after a restart, and the cancellation of a task, wait for
/// the agent.
const RECOVERY_WAIT: Duration = Duration::from_secs(120);

/// Reason for rejecting directives. A forwarded directive would carry the gateway's credentials, as
/// if the gateway had sent it.
const DIRECTIVES_NOT_FORWARDED: &str = "directives are not forwarded to the \
    upstream agent; send them to the server of that agent";

/// Publishes a remote agent: the executor of a gateway.
///
/// The agent is discovered in the background after it is published. Until then calls wait up to
/// five seconds and fail with a retryable error.
///
/// ```
/// use latimer_client::{Client, user_message};
/// use latimer_protocol::SendMessageResponse;
/// use latimer_runtime::RemoteAgent;
/// use latimer_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let echo = latimer_runtime::EchoAgent::new_agent("echo");
/// # let remote = Server::new(echo).bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", remote.address());
/// let agent = RemoteAgent::new(&url).into_agent("partner");
/// let gateway = Server::new(agent).bind("127.0.0.1:0").listen().await?;
///
/// let client = Client::connect(format!("http://{}", gateway.address())).await?;
/// let response = client.send(user_message("hello")).await?;
/// assert!(matches!(response, SendMessageResponse::Task(task) if task.text() == "hello"));
/// # Ok(())
/// # }
/// ```
pub struct RemoteAgent {
    upstream: Arc<Upstream>,
    /// Hop id of this gateway.
    hop_id: OnceLock<String>,
    max_hops: u32,
    forwards_caller: bool,
    discovery: OnceLock<JoinSet<()>>,
}

impl RemoteAgent {
    /// Default number of hops a message may pass, including this one.
    pub const DEFAULT_MAX_HOPS: u32 = 8;

    /// Creates a gateway for the agent at a URL, or with a given card.
    pub fn new(source: impl Into<CardSource>) -> Self {
        Self {
            upstream: Arc::new(Upstream::new(source.into())),
            hop_id: OnceLock::new(),
            max_hops: Self::DEFAULT_MAX_HOPS,
            forwards_caller: false,
            discovery: OnceLock::new(),
        }
    }

    /// Sets the function that configures the client: credentials, limits, versions. It is called
    /// for every discovery until the agent is found.
    #[must_use]
    pub fn configure_client(
        mut self,
        configure: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.update_upstream(|it| it.configure_client = Box::new(configure));
        self
    }

    /// Sets a function that edits the card before it is published. It is called for every
    /// discovered card.
    #[must_use]
    pub fn map_card(mut self, edit_card: impl Fn(&mut AgentCard) + Send + Sync + 'static) -> Self {
        self.update_upstream(|it| it.edit_card = Box::new(edit_card));
        self
    }

    /// Adds a URL whose host is removed from text that callers can read. The hosts of the source
    /// and of the card's interfaces are always removed.
    #[must_use]
    pub fn redact_host(mut self, url: &str) -> Self {
        self.update_upstream(|it| it.redactor.add_url(url));
        self
    }

    /// Sets the maximum number of hops a message may pass, including this one.
    /// [`DEFAULT_MAX_HOPS`](Self::DEFAULT_MAX_HOPS) by default.
    #[must_use]
    pub fn max_hops(mut self, max_hops: u32) -> Self {
        self.max_hops = max_hops;
        self
    }

    /// Sets whether the caller's principal is sent upstream as `userId` in the message metadata. If
    /// enabled, a `userId` from the caller is replaced, and removed for anonymous callers. If
    /// disabled, which is the default, metadata from the caller is forwarded unchanged.
    #[must_use]
    pub fn forward_caller(mut self, enabled: bool) -> Self {
        self.forwards_caller = enabled;
        self
    }

    /// Creates an agent with this name. Its card is a placeholder until the remote agent is
    /// discovered.
    #[must_use]
    pub fn into_agent(mut self, name: &str) -> Agent {
        self.update_upstream(|it| it.name = name.to_owned());
        let mut card = AgentCard {
            name: name.to_owned(),
            description: "Remote agent that has not been discovered yet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: vec!["*/*".to_owned()],
            default_output_modes: vec!["*/*".to_owned()],
            ..AgentCard::default()
        };
        (self.upstream.edit_card)(&mut card);
        Agent::new(name, self).with_placeholder_card(card)
    }

    /// Discovers the agent in the background without publishing it, until the handle is dropped.
    /// The result is logged under this name.
    #[must_use]
    pub fn discover_in_background(mut self, name: &str) -> DiscoveryHandle {
        self.update_upstream(|it| it.name = name.to_owned());
        DiscoveryHandle { _discovery: self.upstream.start_discovery(None) }
    }

    fn update_upstream(&mut self, update: impl FnOnce(&mut Upstream)) {
        // Not shared before the agent is published.
        if let Some(upstream) = Arc::get_mut(&mut self.upstream) {
            update(upstream);
        }
    }

    /// Returns the hop id of this gateway, created on first use.
    fn hop_id(&self, turn: &Turn) -> &str {
        self.hop_id.get_or_init(|| hop_id(turn.agent()))
    }

    /// Returns the hops of a message, including this one.
    fn hop_path(&self, turn: &Turn) -> Result<HopPath, HopError> {
        HopPath::from_message(turn.message(), self.max_hops).push(self.hop_id(turn))
    }

    fn start_discovery(&self, card_handle: Option<&CardHandle>) {
        self.discovery.get_or_init(|| self.upstream.start_discovery(card_handle.cloned()));
    }
}

#[async_trait]
impl Executor for RemoteAgent {
    /// The reply has the kind that the upstream agent chooses, sending has effects outside the
    /// server, and many agents accept more media types than their card declares.
    fn default_policy(&self) -> Policy {
        Policy {
            direct_replies: true,
            record: Record::BeforeStart,
            enforce_input_modes: false,
            ..Policy::default()
        }
    }

    /// Rejects messages that must not be forwarded, and those that cannot be: the circuit is open, or
    /// the agent is not discovered within five seconds.
    async fn check(&self, turn: &Turn) -> Result<(), AgentFailure> {
        self.start_discovery(None);
        if Directive::from_message(turn.message()).is_some() {
            return Ok(turn.reject(DIRECTIVES_NOT_FORWARDED).await?);
        }
        if let Err(problem) = self.hop_path(turn) {
            return Ok(turn.reject(problem.to_string()).await?);
        }
        self.upstream.check(DISCOVERY_WAIT).await.map_err(AgentFailure::reject_message)
    }

    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.start_discovery(None);
        if Directive::from_message(turn.message()).is_some() {
            return Ok(turn.reject(DIRECTIVES_NOT_FORWARDED).await?);
        }
        let hop_path = match self.hop_path(&turn) {
            Ok(path) => path,
            Err(problem) => return Ok(turn.reject(problem.to_string()).await?),
        };
        let mut permit =
            self.upstream.acquire(DISCOVERY_WAIT).await.map_err(AgentFailure::reject_message)?;
        let client = permit.client(turn.extensions());
        let task_id_source = TaskIdSource::for_interface(client.interface());
        let mut outgoing = UpstreamRequest::for_turn(
            &turn,
            &hop_path,
            &self.upstream.context_cache,
            task_id_source,
        )
        .await?;
        if self.forwards_caller {
            outgoing.set_caller(turn.caller());
        }
        let UpstreamRequest { request, ids } = outgoing;
        let mut relay = Relay::new(&turn, &self.upstream, client.clone(), ids);
        // Many agents need more resources for a stream than for a blocking call.
        if turn.is_result_only() && turn.starts_context() {
            let reply = send_then_follow(&client, &self.upstream.task_lookup, request);
            return relay.run(reply, &mut permit).await;
        }
        relay.run(client.follow(request), &mut permit).await
    }

    /// Follows the upstream task of the interrupted turn. Fails if its id was not stored before the
    /// restart.
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
        // Spawned, so that it continues when this future is dropped.
        let cancellation = self.upstream.start_cancel_task(task_id, &Handle::current());
        if cancellation.await.is_err() {
            warn!(agent = self.upstream.name, task = %task.id, "canceling the upstream task failed");
        }
    }

    fn on_publish(&self, card_handle: &CardHandle) {
        self.start_discovery(Some(card_handle));
    }

    fn health(&self) -> Option<Health> {
        Some(self.upstream.health())
    }
}

/// Handle of a background discovery, which ends when the handle is dropped.
pub struct DiscoveryHandle {
    _discovery: JoinSet<()>,
}

impl fmt::Debug for DiscoveryHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DiscoveryHandle")
    }
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RemoteAgent").field("agent", &self.upstream.name).finish_non_exhaustive()
    }
}
