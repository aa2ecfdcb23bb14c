//! What callers do, and what must come of it.

mod cancels;
mod rude;
mod sends;
mod streams;
mod webhooks;

use super::caller::Caller;
use super::random::Random;
use super::trouble::{Run, Trouble};

/// Lists the errands: each, its name, and how often it is run compared with others.
macro_rules! errands {
    ($($(#[doc = $doc:literal])+ $errand:ident $name:literal $weight:literal $run:path;)+) => {
        /// Something that a caller does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Errand {
            $($(#[doc = $doc])+ $errand,)+
        }

        impl Errand {
            /// Every errand.
            pub const ALL: &'static [Self] = &[$(Self::$errand),+];

            fn weight(self) -> u64 {
                match self {
                    $(Self::$errand => $weight,)+
                }
            }

            /// What it is called in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$errand => $name,)+
                }
            }

            /// Runs it.
            ///
            /// # Errors
            /// When it does not go as it should.
            pub async fn run(self, caller: &mut Caller) -> Run {
                match self {
                    $(Self::$errand => Box::pin($run(caller)).await,)+
                }
            }
        }
    };
}

errands! {
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
    Look "health and cards" 2 sends::look;
    /// Reads a stream to its end.
    Stream "stream" 9 streams::whole;
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
    Webhook "webhook" 8 webhooks::whole;
    /// Registers a webhook, looks for it, and removes it.
    Register "webhook registered" 2 webhooks::register;
    /// Says what makes no sense.
    BadInput "bad input" 8 rude::bad_input;
    /// Begins a request, and never ends it.
    HalfOpen "half-open" 2 rude::half_open;
}

impl Errand {
    /// Any of these; some more often than others.
    pub fn by_chance(errands: &[Self], random: &mut Random) -> Self {
        let all: u64 = errands.iter().map(|it| it.weight()).sum();
        let mut at = random.below(all);
        for errand in errands {
            if at < errand.weight() {
                return *errand;
            }
            at -= errand.weight();
        }
        Self::Echo
    }
}

/// Holds, or is a fault.
fn want(holds: bool, what: impl FnOnce() -> String) -> Run {
    if holds { Ok(()) } else { Err(Trouble::Fault(what())) }
}
