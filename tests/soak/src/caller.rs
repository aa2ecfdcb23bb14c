//! Somebody who runs one errand after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latimer_protocol::ErrorKind;
use serde_json::Value;
use tokio::time::sleep;

use super::context::{SoakContext, Tally};
use super::error::{ScenarioError, ScenarioResult, ServerEpoch};
use super::events::{Events, error_code, read_json, without_envelope};
use super::random::Random;
use super::scenario::Scenario;
use super::server::SERVER_TIMEOUT;
use super::task_view::TaskView;
use super::wire_format::{Message, Request, WireFormat};
use latimer_bench::http::Connection;

/// The longest rest between two errands, in milliseconds.
const MAX_PAUSE_MS: u64 = 40;

/// An answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// What was asked for.
    Success(TaskView),
    /// Not that, with a code or status.
    Error(i32, String),
}

/// Somebody who calls.
#[derive(Debug)]
pub struct Caller {
    /// What is shared.
    pub context: Arc<SoakContext>,
    /// Chance.
    pub random: Random,
    /// How it speaks on this errand.
    pub wire_format: WireFormat,
    /// The one that is kept, and when it was used.
    connection: Option<(Connection, Instant)>,
    epoch: ServerEpoch,
}

impl Caller {
    /// Somebody with chances of their own.
    #[must_use]
    pub fn new(context: &Arc<SoakContext>, seed: u64) -> Self {
        Self {
            context: context.clone(),
            random: Random::new(seed),
            wire_format: WireFormat::JsonRpcV1_0,
            connection: None,
            epoch: ServerEpoch::new(context),
        }
    }

    /// Somebody else on the same errand.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        let mut fork = Self::new(&self.context, self.random.next_u64());
        (fork.wire_format, fork.epoch) = (self.wire_format, self.epoch.clone());
        fork
    }

    /// Runs errands until it is over.
    pub async fn run(mut self) {
        while !self.context.is_finished() {
            let scenario = Scenario::pick(&self.context.scenarios, &mut self.random);
            self.wire_format = WireFormat::ALL[self.random.below(3) as usize];
            self.wait_until_up().await;
            let result = scenario.run(&mut self).await;
            let update: fn(&mut Tally) = match &result {
                Ok(()) => |it| it.done += 1,
                Err(ScenarioError::ServerRestarted) => |it| it.interrupted += 1,
                Err(ScenarioError::Violation(_)) => |it| it.failed += 1,
            };
            self.context.record(scenario.name(), update);
            if let Err(ScenarioError::Violation(message)) = result {
                self.context.record_violation(
                    scenario.name(),
                    format!("{:?}: {message}", self.wire_format),
                );
            }
            sleep(Duration::from_millis(self.random.below(MAX_PAUSE_MS))).await;
        }
    }

    /// Waits until the server can be called.
    pub async fn wait_until_up(&mut self) {
        if self.epoch.wait_until_up().await {
            self.connection = None;
        }
    }

    /// What is wrong, unless the server went away meanwhile.
    #[must_use]
    pub fn classify(&self, message: String) -> ScenarioError {
        self.epoch.classify(message)
    }

    /// A message that nobody sent before.
    #[must_use]
    pub fn new_message(&self, text: impl Into<String>) -> Message {
        Message { id: self.context.new_message_id(), text: text.into(), ..Message::default() }
    }

    /// A connection of one's own.
    ///
    /// # Errors
    /// When there is none to be had.
    pub async fn connect(&self, recv_buffer_bytes: Option<u32>) -> ScenarioResult<Connection> {
        self.epoch.with_timeout(Connection::open(&self.context.address, recv_buffer_bytes)).await
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn call(&mut self, request: &Request) -> ScenarioResult<Reply> {
        let (status, body) = self.fetch(request).await?;
        self.parse_reply(status, read_json(&body)?)
    }

    fn parse_reply(&self, status: u16, value: Value) -> ScenarioResult<Reply> {
        match error_code(status, &value) {
            None => Ok(Reply::Success(TaskView(without_envelope(value)))),
            Some(code) if is_unavailable(code) => Err(self.classify(value.to_string())),
            Some(code) => Ok(Reply::Error(code, value.to_string())),
        }
    }

    /// The same, with the answer as it came.
    ///
    /// # Errors
    /// When there is none.
    pub async fn fetch(&mut self, request: &Request) -> ScenarioResult<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            // The server leaves alone who is silent for too long.
            Some((connection, used)) if used.elapsed() < SERVER_TIMEOUT / 2 => connection,
            _ => self.connect(None).await?,
        };
        let bytes = request.to_bytes(&self.context.address);
        let response = self.epoch.with_timeout(connection.exchange(&bytes)).await?;
        let (status, body, closes) =
            (response.status, response.body.to_vec(), response.closes_connection);
        if !closes {
            self.connection = Some((connection, Instant::now()));
        }
        Ok((status, body))
    }

    /// Asks, for what must be had.
    ///
    /// # Errors
    /// When it is not.
    pub async fn expect(&mut self, request: &Request) -> ScenarioResult<TaskView> {
        match self.call(request).await? {
            Reply::Success(view) => Ok(view),
            Reply::Error(_, message) => Err(self.classify(format!("refused: {message}"))),
        }
    }

    /// The same, and asks again whenever the server goes away.
    ///
    /// # Errors
    /// When it is not had.
    pub async fn expect_across_restarts(&mut self, request: &Request) -> ScenarioResult<TaskView> {
        loop {
            match self.expect(request).await {
                Err(ScenarioError::ServerRestarted) => self.wait_until_up().await,
                other => return other,
            }
        }
    }

    /// Asks, for a stream, on a connection of its own. There may be another answer in place of it.
    ///
    /// # Errors
    /// When there is none at all.
    pub async fn stream(&mut self, request: &Request) -> ScenarioResult<Result<Events, Reply>> {
        let connection = self.connect(None).await?;
        self.stream_on(connection, request).await
    }

    /// The same on a connection that is there.
    ///
    /// # Errors
    /// When there is no answer at all.
    pub async fn stream_on(
        &mut self,
        mut connection: Connection,
        request: &Request,
    ) -> ScenarioResult<Result<Events, Reply>> {
        let bytes = request.to_bytes(&self.context.address);
        let response =
            self.epoch.with_timeout(connection.start_stream_or_read_response(&bytes)).await?;
        if let Some((status, body)) = response {
            // A stream that fails at once is an answer, or a stream of one event.
            let value = read_json(body.strip_prefix(b"data:").unwrap_or(&body))?;
            return self.parse_reply(status, value).map(Err);
        }
        Ok(Ok(Events::new(connection, self.epoch.clone())))
    }
}

fn is_unavailable(code: i32) -> bool {
    WireFormat::ALL.iter().any(|it| it.error_code(ErrorKind::Unavailable) == code)
}
