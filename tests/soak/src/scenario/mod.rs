//! Scenarios: the calls that a caller makes, and the responses that it expects.
//!
//! | module | contents |
//! | --- | --- |
//! | `sends` | blocking sends, fetches, lists, files, commands and probes |
//! | `streams` | streams that are read to the end, cut and resumed, or read slowly |
//! | `cancels` | cancellation, also racing with the end of a turn |
//! | `webhooks` | webhook delivery and registration |
//! | `bad_input` | malformed requests and half-open connections |

mod bad_input;
mod cancels;
mod sends;
mod streams;
mod webhooks;

use super::caller::Caller;
use super::error::{ScenarioError, ScenarioResult};
use super::random::Random;

/// Defines the scenarios: variant, name, relative frequency and function of each.
macro_rules! scenarios {
    ($($(#[doc = $doc:literal])+ $scenario:ident $name:literal $weight:literal $run:path;)+) => {
        /// A scenario, picked at random by callers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scenario {
            $($(#[doc = $doc])+ $scenario,)+
        }

        impl Scenario {
            /// All scenarios.
            pub const ALL: &'static [Self] = &[$(Self::$scenario),+];

            fn weight(self) -> u64 {
                match self {
                    $(Self::$scenario => $weight,)+
                }
            }

            /// Returns the name in the report and in `--scenarios`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$scenario => $name,)+
                }
            }

            /// Runs the scenario once.
            ///
            /// # Errors
            /// Fails if a response is unexpected, or a server stop interrupts the scenario.
            pub async fn run(self, caller: &mut Caller) -> ScenarioResult {
                match self {
                    $(Self::$scenario => Box::pin($run(caller)).await,)+
                }
            }
        }
    };
}

scenarios! {
    /// Sends a message and waits for the task.
    Echo "send" 22 sends::echo;
    /// Sends a message that is answered with a direct reply.
    Direct "direct message" 6 sends::direct;
    /// Fetches a finished task.
    Get "get" 8 sends::get;
    /// Reads several pages of the task list.
    List "list" 3 sends::list;
    /// Continues a task that requires input.
    InputRequired "ask and answer" 6 sends::input_required;
    /// Sends and receives a file.
    File "files" 4 sends::file;
    /// Sends the same message twice.
    Repeat "repeat" 4 sends::repeat;
    /// Sends a message that the agent fails or rejects.
    Fail "fail and reject" 3 sends::fail;
    /// Calls the command agent.
    Command "command" 3 sends::command;
    /// Disconnects before the response.
    Abandon "abandon" 3 sends::abandon;
    /// Fetches health endpoints and cards.
    Probe "health and cards" 2 sends::probe;
    /// Reads a stream to its end.
    Stream "stream" 9 streams::read_to_end;
    /// Cuts a stream and resumes after the last event.
    Resume "cut and resume" 6 streams::resume;
    /// Subscribes several readers to a running task.
    Subscribe "subscribe" 5 streams::subscribe;
    /// Reads a stream slowly, with a small receive buffer.
    Slow "slow reader" 2 streams::slow;
    /// Cancels a running task.
    Cancel "cancel" 5 cancels::cancel;
    /// Cancels a task twice while it ends.
    Race "cancel race" 5 cancels::race;
    /// Has the events of a task delivered to a webhook.
    Webhook "webhook" 8 webhooks::deliver;
    /// Registers, fetches, lists and deletes a webhook.
    Register "webhook registered" 2 webhooks::register;
    /// Sends a malformed or oversized request.
    BadInput "bad input" 8 bad_input::bad_input;
    /// Sends part of a request.
    HalfOpen "half-open" 2 bad_input::half_open;
}

impl Scenario {
    /// Picks one of `scenarios` at random, by relative frequency.
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

/// Returns a violation unless `condition` holds.
fn ensure(condition: bool, message: impl FnOnce() -> String) -> ScenarioResult {
    if condition { Ok(()) } else { Err(ScenarioError::Violation(message())) }
}
