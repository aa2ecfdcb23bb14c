//! The client of one agent.

mod builder;
mod calls;
mod follower;
mod options;
mod poll;
mod retry;
mod text_deltas;

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    Call, CallContext, CallResponse, Capability, Dialect, ErrorKind, EventStream, Message,
    MessageId, Part, Reply, ReplyKind, Request, Service,
};
use parking_lot::Mutex;
use tokio::task::JoinSet;

pub use builder::ClientBuilder;
use builder::Connector;
pub use follower::TaskFollower;
pub use options::CallOptions;
use options::add_extensions;
pub use poll::PollPolicy;
pub use retry::RetryPolicy;

use crate::discovery::CardSource;
use crate::error::Error;
use crate::negotiate::SelectedInterface;
use crate::transport::{InProcess, Transport};

/// Client of one agent. Cheap to clone; clones share their connections.
///
/// ```
/// use latimer_client::{Client, user_message};
/// use latimer_protocol::SendMessageResponse;
/// # use latimer_runtime::DemoAgent;
/// # use latimer_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = Server::new(DemoAgent::new_agent("demo")).bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", server.address());
/// let client = Client::connect(&url).await?;
/// let response = client.send(user_message("say hello")).await?;
/// assert!(matches!(response, SendMessageResponse::Message(reply) if reply.text() == "hello"));
///
/// let mut follower = client.follow(user_message("chunks 3"));
/// while let Some(event) = follower.next().await? {
///     println!("{event:?}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// A [`RetryPolicy`] decides which failed calls are repeated. [`CallOptions`] apply to single calls.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    transport: Arc<dyn Transport>,
    interface: Option<SelectedInterface>,
    card: Option<Arc<AgentCard>>,
    connector: Option<Arc<Connector>>,
    /// Extensions that every call activates, including those of `options`.
    extensions: Vec<String>,
    options: CallOptions,
    dialect: Dialect,
    retry: RetryPolicy,
    polling: PollPolicy,
    streaming_enabled: bool,
    /// Whether the agent declares that event ids are revisions. Other servers use ids that identify
    /// nothing or restart with each connection.
    has_numbered_events: bool,
    /// Background tasks of followers. Dropping the last clone of the client aborts them.
    background: Arc<Mutex<JoinSet<()>>>,
}

/// Result of [`Client::refresh`].
#[derive(Clone, Debug)]
pub enum CardRefresh {
    /// Neither the card nor the selected interface has changed.
    Unchanged,
    /// The card or the selected interface has changed. This client calls the new interface.
    Changed(Client),
}

/// Creates a message of the user with a new id.
///
/// ```
/// assert_eq!(latimer_client::user_message("hello").text(), "hello");
/// ```
pub fn user_message(part: impl Into<Part>) -> Message {
    Message::user(new_message_id(), part)
}

#[expect(clippy::expect_used, reason = "a UUID is neither empty nor too long")]
fn new_message_id() -> MessageId {
    MessageId::new(uuid::Uuid::now_v7().to_string()).expect("a UUID is an id")
}

impl Client {
    /// Fetches the agent's card and selects an interface, with default options.
    ///
    /// # Errors
    /// [`Error::NoCard`] and [`Error::NoInterface`] if the card is missing or has no interface that
    /// can be called; otherwise the reason why the card cannot be fetched.
    pub async fn connect(source: impl Into<CardSource>) -> Result<Self, Error> {
        Self::builder(source).connect().await
    }

    /// Creates a client that calls `url` without fetching a card, over JSON-RPC in 1.0. A
    /// [`ClientBuilder`] sets other bindings and versions.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if `url` is not an http or https URL.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// Creates a builder for a client.
    pub fn builder(source: impl Into<CardSource>) -> ClientBuilder {
        ClientBuilder::new(source.into())
    }

    /// Creates a client of a service in the same process, such as a server's engine.
    #[must_use]
    pub fn from_service(service: Arc<dyn Service>) -> Self {
        Self::from_transport(Arc::new(InProcess(service)))
    }

    /// Creates a client that calls an agent over `transport`, without a card, in the current version.
    /// The transport sets the revision of an event only if the agent numbers its events.
    #[must_use]
    pub fn from_transport(transport: Arc<dyn Transport>) -> Self {
        Self(Arc::new(Inner {
            transport,
            interface: None,
            card: None,
            connector: None,
            extensions: Vec::new(),
            options: CallOptions::default(),
            dialect: Dialect::V1_0,
            retry: RetryPolicy::default(),
            polling: PollPolicy::default(),
            streaming_enabled: true,
            has_numbered_events: true,
            background: Arc::default(),
        }))
    }

    /// Returns a client with these options for its calls, in addition to those of this client. Both
    /// share their connections and credentials.
    #[must_use]
    pub fn with_options(&self, options: CallOptions) -> Self {
        let mut inner = (*self.0).clone();
        add_extensions(&mut inner.extensions, options.extensions.clone());
        inner.options.merge(options);
        Self(Arc::new(inner))
    }

    /// Returns the agent's card; `None` for a client that was created without
    /// [connecting](Self::connect).
    #[must_use]
    pub fn card(&self) -> Option<&AgentCard> {
        self.0.card.as_deref()
    }

    /// Returns the interface that this client calls, with the reasons why the others were rejected;
    /// `None` for a client of a [service](Self::from_service) or [transport](Self::from_transport).
    #[must_use]
    pub fn interface(&self) -> Option<&SelectedInterface> {
        self.0.interface.as_ref()
    }

    /// Asks the server of the card whether the card has changed since it was fetched. The conditional
    /// request (`ETag`, `Last-Modified`) uses the connections of this client.
    ///
    /// If the card or the selected interface has changed, returns a new client with the options of
    /// this one. This client continues to call the interface of the old card.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect), and [`Error::NoCard`] if this client was created without a
    /// card.
    pub async fn refresh(&self) -> Result<CardRefresh, Error> {
        let connector = self.connector()?;
        let card = connector.refresh_card().await?;
        let selected = connector.select_interface(&card).await?;
        if self.card() == Some(&*card) && self.interface() == Some(&selected) {
            return Ok(CardRefresh::Unchanged);
        }
        let client = connector.connect(card, selected).await?;
        Ok(CardRefresh::Changed(client.with_options(self.0.options.clone())))
    }

    /// Returns the agent's current card: the cached one while it is fresh, otherwise the one on its
    /// server. This client continues to call the interface of the card that it connected with;
    /// [`refresh`](Self::refresh) returns a client for the current card.
    ///
    /// # Errors
    /// [`Error::NoCard`] if the client was created without a card; otherwise the reason why the card
    /// cannot be fetched or is not trusted.
    pub async fn fetch_card(&self) -> Result<Arc<AgentCard>, Error> {
        self.connector()?.fetch_card().await
    }

    /// Returns the time for which the card remains fresh according to the headers of its server: zero
    /// after a call failed in a way that contradicts the card, `None` if the card was not fetched from
    /// a server.
    #[must_use]
    pub fn card_fresh_for(&self) -> Option<Duration> {
        self.0.connector.as_ref()?.card_fresh_for()
    }

    /// Discards the cached card, so that the next [`fetch_card`](Self::fetch_card) or
    /// [`refresh`](Self::refresh) fetches it without a condition.
    pub fn invalidate_card(&self) {
        if let Some(connector) = &self.0.connector {
            connector.invalidate_card();
        }
    }

    /// Returns whether this client opens streams: `false` after
    /// [`ClientBuilder::disable_streaming`], or if the agent's card declares no streaming.
    #[must_use]
    pub fn uses_streaming(&self) -> bool {
        let declares_streaming =
            |card: &AgentCard| card.capabilities.declares(Capability::Streaming);
        self.0.streaming_enabled && self.card().is_none_or(declares_streaming)
    }

    fn connector(&self) -> Result<&Arc<Connector>, Error> {
        let connector = self.0.connector.as_ref();
        connector.ok_or_else(|| Error::NoCard("the client was created without a card".into()))
    }

    fn build_call(&self, request: Request) -> Call {
        let (extensions, dialect) = (self.0.extensions.clone(), self.0.dialect);
        let context = CallContext { extensions, dialect, ..CallContext::default() };
        Call { context, request }
    }

    /// Makes a call, and repeats it as the retry policy allows.
    async fn call_with_retry(&self, call: &Call) -> Result<CallResponse<Error>, Error> {
        let Inner { transport, options, dialect, .. } = &*self.0;
        let retry = self.retry_policy();
        let safety = retry.safety(call, *dialect);
        let result = retry.run(safety, || transport.exchange(call, options)).await;
        if result.as_ref().err().is_some_and(contradicts_card) {
            self.invalidate_card();
        }
        result
    }

    fn retry_policy(&self) -> &RetryPolicy {
        self.0.options.retry.as_ref().unwrap_or(&self.0.retry)
    }

    /// Makes a call whose reply is a stream.
    async fn open_stream(&self, call: &Call) -> Result<EventStream<Error>, Error> {
        match self.call_with_retry(call).await?.kind {
            ReplyKind::Stream(events) => Ok(events),
            ReplyKind::Single(reply) => Err(unexpected_reply(&reply)),
        }
    }
}

impl Client {
    /// Runs a task that outlives its follower but not the client.
    fn spawn_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.0.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(task);
    }
}

/// Returns whether an error contradicts the card: the agent may have moved or changed its version.
fn contradicts_card(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. }
        | Error::UpstreamUnavailable { .. }
        | Error::InvalidResponse { .. } => true,
        Error::Agent(error) => {
            matches!(error.kind(), ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound)
        }
        _ => false,
    }
}

/// Creates the error for a reply that does not match its request.
fn unexpected_reply(reply: &Reply) -> Error {
    unexpected_response(match reply {
        Reply::SendMessage(_) => "SendMessage",
        Reply::Task(_) => "Task",
        Reply::TaskList(_) => "TaskList",
        Reply::PushConfig(_) => "PushConfig",
        Reply::PushConfigList(_) => "PushConfigList",
        Reply::PushConfigsDeleted(_) => "PushConfigsDeleted",
        Reply::Card(_) => "Card",
    })
}

/// Creates the error for a response whose kind does not match its request.
fn unexpected_response(kind: &str) -> Error {
    let problem = format!("the reply belongs to another operation ({kind})");
    Error::InvalidResponse { origin: "the agent".into(), problem }
}
