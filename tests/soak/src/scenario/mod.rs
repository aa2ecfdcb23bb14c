//! What callers do, and what must come of it.

mod bad_input;
mod cancels;
mod sends;
mod streams;
mod webhooks;

use super::caller::Caller;
use super::error::{ScenarioError, ScenarioResult};
use super::random::Random;

/// Lists the errands: each, its name, and how often it is run compared with others.
macro_rules! scenarios {
    ($($(#[doc = $doc:literal])+ $scenario:ident $name:literal $weight:literal $run:path;)+) => {
        /// Something that a caller does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scenario {
            $($(#[doc = $doc])+ $scenario,)+
        }

        impl Scenario {
            /// Every errand.
            pub const ALL: &'static [Self] = &[$(Self::$scenario),+];

            fn weight(self) -> u64 {
                match self {
                    $(Self::$scenario => $weight,)+
                }
            }

            /// What it is called in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$scenario => $name,)+
                }
            }

            /// Runs it.
            ///
            /// # Errors
            /// When it does not go as it should.
            pub async fn run(self, caller: &mut Caller) -> ScenarioResult {
                match self {
                    $(Self::$scenario => Box::pin($run(caller)).await,)+
                }
            }
        }
    };
}

scenarios! {
    /// Sends a message, and waits.
    Echo "send" 22 sends::echo;
    /// Gets an answer that is no task.
    Direct "direct message" 6 sends::direct;
    /// Asks for a task again.
    Get "get" 8 sends::get;
    /// Turns the pages of a list.
    List "list" 3 sends::list;
    /// Answers a question of the agent.
    Ask "ask and answer" 6 sends::ask;
    /// Sends a file, and gets one.
    File "files" 4 sends::file;
    /// Sends a message twice.
    Repeat "repeat" 4 sends::repeat;
    /// Has the agent fail, or decline.
    Fail "fail and reject" 3 sends::fail;
    /// Has a program run.
    Command "command" 3 sends::command;
    /// Goes before there is an answer.
    Abandon "abandon" 3 sends::abandon;
    /// Asks how the server is, and for cards.
    Probe "health and cards" 2 sends::probe;
    /// Reads a stream to its end.
    Stream "stream" 9 streams::read_to_end;
    /// Reads a stream, is cut off, and goes on where it was.
    Resume "cut and resume" 6 streams::resume;
    /// Watches a task that somebody else began.
    Subscribe "subscribe" 5 streams::subscribe;
    /// Reads slowly, through small buffers.
    Slow "slow reader" 2 streams::slow;
    /// Cancels a task that would go on.
    Cancel "cancel" 5 cancels::cancel;
    /// Cancels a task twice while it ends.
    Race "cancel race" 5 cancels::race;
    /// Has events sent to the receiver.
    Webhook "webhook" 8 webhooks::deliver;
    /// Registers a webhook, looks for it, and removes it.
    Register "webhook registered" 2 webhooks::register;
    /// Says what makes no sense.
    BadInput "bad input" 8 bad_input::bad_input;
    /// Begins a request, and never ends it.
    HalfOpen "half-open" 2 bad_input::half_open;
}

impl Scenario {
    /// Any of these; some more often than others.
    pub fn pick(scenarios: &[Self], random: &mut Random) -> Self {
        let total: u64 = scenarios.iter().map(|it| it.weight()).sum();
        let mut point = random.below(total);
        for scenario in scenarios {
            if point < scenario.weight() {
                return *scenario;
            }
            point -= scenario.weight();
        }
        Self::Echo
    }
}

/// Holds, or is a fault.
fn ensure(condition: bool, message: impl FnOnce() -> String) -> ScenarioResult {
    if condition { Ok(()) } else { Err(ScenarioError::Violation(message())) }
}
