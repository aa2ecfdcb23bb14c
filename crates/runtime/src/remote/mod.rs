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
//! | `outgoing`, `note`, `path` | a message on its way: under which ids, and through whom |
//! | `relay`, `told` | what comes back, and how much of it our task has already |
//! | `words`, `card` | what callers may read of it: never where it is |

mod breaker;
mod card;
mod contexts;
mod note;
mod outgoing;
mod path;
mod relay;
mod told;
mod upstream;
mod words;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use latimer_client::{CardSource, ClientBuilder, Error as ClientError};
use latimer_protocol::Task;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::Directive;
use latimer_server::{Agent, AgentFailure, CardHandle, Executor, Health, Turn};
use tracing::warn;

pub(crate) use contexts::{Contexts, context_of};
use note::Note;
use outgoing::{Naming, Outgoing};
pub(crate) use path::{Path, place};
use relay::Relay;
pub(crate) use upstream::SetUp;
use upstream::{Keeper, Upstream};
pub(crate) use words::Words;

/// How long a call waits for an agent that has not been found yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a turn that was interrupted by a restart waits for it, and a task that is to be stopped.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// How many agents a message may pass on its way, if nobody says.
pub(crate) const HOPS: u32 = 8;

/// What those read who give directives. They would come with our credentials, as if we gave them.
const NO_DIRECTIVES: &str = "directives are for the server that gets them, and are not passed on to \
    the agent behind this one; send them to its own server";

/// An agent elsewhere, published as one of ours.
///
/// ```
/// use latimer_runtime::Remote;
///
/// let agent = Remote::new("https://partner.example.com").agent("partner");
/// assert_eq!(agent.card().name, "partner");
/// ```
pub struct Remote {
    upstream: Arc<Upstream>,
    /// What we are called on the way of a message.
    place: OnceLock<String>,
    hops: u32,
    tells_caller: bool,
    keeper: OnceLock<Keeper>,
}

impl Remote {
    /// The agent at an address, or of a card.
    pub fn new(source: impl Into<CardSource>) -> Self {
        Self {
            upstream: Arc::new(Upstream::new(source.into())),
            place: OnceLock::new(),
            hops: HOPS,
            tells_caller: false,
            keeper: OnceLock::new(),
        }
    }

    /// Sets up the client that calls it: credentials, limits, versions. Done anew whenever the agent is
    /// looked for.
    #[must_use]
    pub fn client(
        mut self,
        set_up: impl Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync + 'static,
    ) -> Self {
        self.change(|it| it.set_up = Box::new(set_up));
        self
    }

    /// Changes what the agent says about itself before it is published.
    #[must_use]
    pub fn described(mut self, by: impl Fn(&mut AgentCard) + Send + Sync + 'static) -> Self {
        self.change(|it| it.describe = Box::new(by));
        self
    }

    /// Hides an address from callers, beside those that are called.
    #[must_use]
    pub fn hiding(mut self, url: &str) -> Self {
        self.change(|it| it.words.hide(url));
        self
    }

    /// How many agents a message may pass, this one included.
    #[must_use]
    pub fn hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Whether the agent is told who calls: by their name, in the member `userId` of a message's
    /// metadata, where nobody else can write one then. Otherwise it learns nothing of its callers but
    /// what they say themselves.
    #[must_use]
    pub fn telling_caller(mut self, tells: bool) -> Self {
        self.tells_caller = tells;
        self
    }

    /// The agent under this name, with a card that says no more until the agent is found.
    #[must_use]
    pub fn agent(mut self, name: &str) -> Agent {
        self.change(|it| it.name = name.to_owned());
        let mut card = AgentCard {
            name: name.to_owned(),
            description: "An agent elsewhere, which has not been found yet".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: vec!["*/*".to_owned()],
            default_output_modes: vec!["*/*".to_owned()],
            ..AgentCard::default()
        };
        (self.upstream.describe)(&mut card);
        Agent::new(name, self).with_card(card)
    }

    /// Looks for the agent under this name in the background, without publishing it, until what is
    /// returned is dropped. Says in the log when it is found, and when it is not.
    #[must_use]
    pub fn look_out(mut self, name: &str) -> Lookout {
        self.change(|it| it.name = name.to_owned());
        Lookout { _keeper: Keeper::new(self.upstream, None) }
    }

    fn change(&mut self, change: impl FnOnce(&mut Upstream)) {
        // Nobody else has it before it is published.
        if let Some(upstream) = Arc::get_mut(&mut self.upstream) {
            change(upstream);
        }
    }

    /// Our place on the way of a message: the agent's name, and which of all servers this is.
    fn place(&self, turn: &Turn) -> &str {
        self.place.get_or_init(|| place(turn.agent()))
    }

    fn look_after(&self, placard: Option<&CardHandle>) {
        self.keeper.get_or_init(|| Keeper::new(Arc::clone(&self.upstream), placard.cloned()));
    }
}

#[async_trait]
impl Executor for Remote {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.look_after(None);
        if Directive::from_message(turn.message()).is_some() {
            return Ok(turn.reject(NO_DIRECTIVES).await?);
        }
        let path = match Path::of(turn.message(), self.hops).onward(self.place(&turn)) {
            Ok(path) => path,
            Err(problem) => return Ok(turn.reject(problem.to_string()).await?),
        };
        let mut pass = self.upstream.pass(PATIENCE).await.map_err(AgentFailure::reject_message)?;
        let client = pass.client(turn.extensions());
        let naming = Naming::of(client.interface());
        let mut outgoing = Outgoing::of(&turn, &path, &self.upstream.contexts, naming).await?;
        if self.tells_caller {
            outgoing.tell(turn.caller());
        }
        // To make a stream costs many agents more than to make an answer.
        let following = match turn.is_result_only() && turn.starts_context() {
            true => client.send_then_follow(outgoing.request),
            false => client.follow(outgoing.request),
        };
        let mut relay = Relay::new(&turn, &self.upstream, client, outgoing.note);
        relay.run(following, &mut pass).await
    }

    /// Goes on with the task that the agent has been given, if that was known in time.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.look_after(None);
        let note = turn.note().and_then(Note::read);
        let Some((note, id)) = note.and_then(|it| Some((it.clone(), it.task?))) else {
            return Err(AgentFailure::interrupted_by_restart());
        };
        let unreachable = |error: latimer_protocol::Error| AgentFailure::new(error.message());
        let mut pass = self.upstream.pass(LONG_PATIENCE).await.map_err(unreachable)?;
        let client = pass.client(turn.extensions());
        let following = client.follow_task(id);
        let mut relay = Relay::new(&turn, &self.upstream, client, note);
        relay.run(following, &mut pass).await
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        let Some(id) = note.and_then(Note::read).and_then(|it| it.task) else { return };
        // It goes on when nobody waits for it any more.
        let stopped = tokio::spawn(Arc::clone(&self.upstream).stop(id));
        if stopped.await.is_err() {
            warn!(agent = self.upstream.name, task = %task.id, "the agent behind was not stopped");
        }
    }

    fn on_publish(&self, placard: &CardHandle) {
        self.look_after(Some(placard));
    }

    fn health(&self) -> Option<Health> {
        Some(self.upstream.health())
    }
}

/// Looks for an agent until it is dropped.
pub struct Lookout {
    _keeper: Keeper,
}

impl fmt::Debug for Lookout {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lookout")
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Remote").field("agent", &self.upstream.name).finish_non_exhaustive()
    }
}
