//! A caller: runs one scenario after another over one kept-alive connection.

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

/// Maximum pause between two scenarios, in milliseconds.
const MAX_PAUSE_MS: u64 = 40;

/// Response to a call, of any wire format.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The result.
    Success(TaskView),
    /// A JSON-RPC error code or an HTTP status, and the response body.
    Error(i32, String),
}

/// Client of the server under test.
#[derive(Debug)]
pub struct Caller {
    /// State shared by all callers.
    pub context: Arc<SoakContext>,
    /// Source of the random choices of this caller.
    pub random: Random,
    /// Wire format of the current scenario.
    pub wire_format: WireFormat,
    /// Connection kept alive between calls, and the time of its last use.
    connection: Option<(Connection, Instant)>,
    epoch: ServerEpoch,
}

impl Caller {
    /// Creates a caller with its own random seed.
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

    /// Creates a second caller within the current scenario, with its own connection.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        let mut fork = Self::new(&self.context, self.random.next_u64());
        (fork.wire_format, fork.epoch) = (self.wire_format, self.epoch.clone());
        fork
    }

    /// Runs random scenarios until the context is finished, and records their results.
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

    /// Waits until the server is ready. Drops the kept connection if the server was restarted.
    pub async fn wait_until_up(&mut self) {
        if self.epoch.wait_until_up().await {
            self.connection = None;
        }
    }

    /// Returns a violation with `message`, or [`ScenarioError::ServerRestarted`] if the server was
    /// stopped since the scenario began.
    #[must_use]
    pub fn classify(&self, message: String) -> ScenarioError {
        self.epoch.classify(message)
    }

    /// Creates a message with an unused id.
    #[must_use]
    pub fn new_message(&self, text: impl Into<String>) -> Message {
        Message { id: self.context.new_message_id(), text: text.into(), ..Message::default() }
    }

    /// Opens a new connection; `recv_buffer_bytes` limits the receive buffer of the socket.
    ///
    /// # Errors
    /// Fails if the server does not accept the connection.
    pub async fn connect(&self, recv_buffer_bytes: Option<u32>) -> ScenarioResult<Connection> {
        self.epoch.with_timeout(Connection::open(&self.context.address, recv_buffer_bytes)).await
    }

    /// Sends a request, and returns the decoded response, which may be an error of the server.
    ///
    /// # Errors
    /// Fails if there is no response, it is not JSON, or it says that the server is unavailable.
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

    /// Sends a request, and returns the status and body of the response. Reuses the kept connection.
    ///
    /// # Errors
    /// Fails if there is no response.
    pub async fn fetch(&mut self, request: &Request) -> ScenarioResult<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            // The server closes connections that are idle for longer than its header timeout.
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

    /// Sends a request that must succeed.
    ///
    /// # Errors
    /// Fails if there is no response, or it is an error.
    pub async fn expect(&mut self, request: &Request) -> ScenarioResult<TaskView> {
        match self.call(request).await? {
            Reply::Success(view) => Ok(view),
            Reply::Error(_, message) => {
                Err(self.classify(format!("unexpected error response: {message}")))
            }
        }
    }

    /// Sends a request that must succeed, and resends it after each server restart.
    ///
    /// # Errors
    /// Fails if the response is an error, or the connection breaks while the server is running.
    pub async fn expect_across_restarts(&mut self, request: &Request) -> ScenarioResult<TaskView> {
        loop {
            match self.expect(request).await {
                Err(ScenarioError::ServerRestarted) => self.wait_until_up().await,
                other => return other,
            }
        }
    }

    /// Requests a stream on a new connection. Returns its events, or the response that the server
    /// sent instead of a stream.
    ///
    /// # Errors
    /// Fails if there is no response.
    pub async fn stream(&mut self, request: &Request) -> ScenarioResult<Result<Events, Reply>> {
        let connection = self.connect(None).await?;
        self.stream_on(connection, request).await
    }

    /// Requests a stream on the given connection, as [`Caller::stream`] does on a new one.
    ///
    /// # Errors
    /// Fails if there is no response.
    pub async fn stream_on(
        &mut self,
        mut connection: Connection,
        request: &Request,
    ) -> ScenarioResult<Result<Events, Reply>> {
        let bytes = request.to_bytes(&self.context.address);
        let response =
            self.epoch.with_timeout(connection.start_stream_or_read_response(&bytes)).await?;
        if let Some((status, body)) = response {
            // An immediate failure is a plain JSON response or a stream of one event.
            let value = read_json(body.strip_prefix(b"data:").unwrap_or(&body))?;
            return self.parse_reply(status, value).map(Err);
        }
        Ok(Ok(Events::new(connection, self.epoch.clone())))
    }
}

fn is_unavailable(code: i32) -> bool {
    WireFormat::ALL.iter().any(|it| it.error_code(ErrorKind::Unavailable) == code)
}
