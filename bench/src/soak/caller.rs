//! Somebody who runs one errand after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latimer_protocol::ErrorKind;
use serde_json::Value;
use tokio::time::sleep;

use super::errand::Errand;
use super::events::{Events, read_json, refusal, result};
use super::random::Random;
use super::seen::Seen;
use super::server::BRIEF;
use super::speech::{Message, Request, Speech};
use super::trouble::{Run, Since, Trouble};
use super::world::{Tally, World};
use crate::http::Connection;

/// The longest rest between two errands, in milliseconds.
const REST: u64 = 40;

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// What was asked for.
    Well(Seen),
    /// Not that, with a code or status.
    Refused(i32, String),
}

/// Somebody who calls.
#[derive(Debug)]
pub struct Caller {
    /// What is shared.
    pub world: Arc<World>,
    /// Chance.
    pub random: Random,
    /// How it speaks on this errand.
    pub speech: Speech,
    /// The one that is kept, and when it was used.
    connection: Option<(Connection, Instant)>,
    since: Since,
}

impl Caller {
    /// Somebody with chances of their own.
    #[must_use]
    pub fn new(world: &Arc<World>, seed: u64) -> Self {
        Self {
            world: world.clone(),
            random: Random::new(seed),
            speech: Speech::Rpc,
            connection: None,
            since: Since::new(world),
        }
    }

    /// Somebody else on the same errand.
    #[must_use]
    pub fn twin(&mut self) -> Self {
        let mut twin = Self::new(&self.world, self.random.any());
        (twin.speech, twin.since) = (self.speech, self.since.clone());
        twin
    }

    /// Runs errands until it is over.
    pub async fn serve(mut self) {
        while !self.world.over() {
            let errand = Errand::by_chance(&self.world.errands, &mut self.random);
            self.speech = Speech::ALL[self.random.below(3) as usize];
            self.until_up().await;
            let run = errand.run(&mut self).await;
            let count: fn(&mut Tally) = match &run {
                Ok(()) => |it| it.done += 1,
                Err(Trouble::CutShort) => |it| it.cut_short += 1,
                Err(Trouble::Fault(_)) => |it| it.failed += 1,
            };
            self.world.count(errand.name(), count);
            if let Err(Trouble::Fault(what)) = run {
                self.world.fault(errand.name(), format!("{:?}: {what}", self.speech));
            }
            sleep(Duration::from_millis(self.random.below(REST))).await;
        }
    }

    /// Waits until the server can be called.
    pub async fn until_up(&mut self) {
        if self.since.until_up().await {
            self.connection = None;
        }
    }

    /// What is wrong, unless the server went away meanwhile.
    #[must_use]
    pub fn judge(&self, what: String) -> Trouble {
        self.since.judge(what)
    }

    /// A message that nobody sent before.
    #[must_use]
    pub fn message(&self, text: impl Into<String>) -> Message {
        Message { id: self.world.message_id(), text: text.into(), ..Message::default() }
    }

    /// A connection of one's own.
    ///
    /// # Errors
    /// When there is none to be had.
    pub async fn connect(&self, unread: Option<u32>) -> Run<Connection> {
        self.since.wait(Connection::open(&self.world.address, unread)).await
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn ask(&mut self, request: &Request) -> Run<Answer> {
        let (status, body) = self.fetch(request).await?;
        self.answer(status, read_json(&body)?)
    }

    fn answer(&self, status: u16, value: Value) -> Run<Answer> {
        match refusal(status, &value) {
            None => Ok(Answer::Well(Seen(result(value)))),
            Some(code) if is_unavailable(code) => Err(self.judge(value.to_string())),
            Some(code) => Ok(Answer::Refused(code, value.to_string())),
        }
    }

    /// The same, with the answer as it came.
    ///
    /// # Errors
    /// When there is none.
    pub async fn fetch(&mut self, request: &Request) -> Run<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            // The server leaves alone who is silent for too long.
            Some((connection, used)) if used.elapsed() < BRIEF / 2 => connection,
            _ => self.connect(None).await?,
        };
        let bytes = request.bytes(&self.world.address);
        let answer = self.since.wait(connection.exchange(&bytes)).await?;
        let (status, body, closes) = (answer.status, answer.body.to_vec(), answer.closes);
        if !closes {
            self.connection = Some((connection, Instant::now()));
        }
        Ok((status, body))
    }

    /// Asks, for what must be had.
    ///
    /// # Errors
    /// When it is not.
    pub async fn expect(&mut self, request: &Request) -> Run<Seen> {
        match self.ask(request).await? {
            Answer::Well(seen) => Ok(seen),
            Answer::Refused(_, said) => Err(self.judge(format!("refused: {said}"))),
        }
    }

    /// The same, and asks again whenever the server goes away.
    ///
    /// # Errors
    /// When it is not had.
    pub async fn insist(&mut self, request: &Request) -> Run<Seen> {
        loop {
            match self.expect(request).await {
                Err(Trouble::CutShort) => self.until_up().await,
                other => return other,
            }
        }
    }

    /// Asks, for a stream, on a connection of its own. There may be another answer in place of it.
    ///
    /// # Errors
    /// When there is none at all.
    pub async fn stream(&mut self, request: &Request) -> Run<Result<Events, Answer>> {
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
    ) -> Run<Result<Events, Answer>> {
        let bytes = request.bytes(&self.world.address);
        let begun = self.since.wait(connection.begin_or_answer(&bytes)).await?;
        if let Some((status, body)) = begun {
            // A stream that fails at once is an answer, or a stream of one event.
            let value = read_json(body.strip_prefix(b"data:").unwrap_or(&body))?;
            return self.answer(status, value).map(Err);
        }
        Ok(Ok(Events::new(connection, self.since.clone())))
    }
}

fn is_unavailable(code: i32) -> bool {
    Speech::ALL.iter().any(|it| it.code(ErrorKind::Unavailable) == code)
}
