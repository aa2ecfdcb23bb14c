//! Agents on the official SDKs, and what our client asks of them.

pub(super) mod cannot;
mod cards;
mod checks;
mod front;
mod peer;
pub(super) mod process;
mod refusals;
mod sending;
mod streaming;
mod tasks;
mod webhooks;

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use latimer_protocol::Version;
use tokio::time::timeout;

use super::page::Column;
use super::sdk::{Binding, Fate, Language, why};
use cannot::{CANNOT, CANNOT_ASK, CANNOT_THROUGH};
use checks::Checked;
use front::Front;
use peer::Peer;
use process::Process;

/// Long enough for a slow machine: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// For what is said not to work.
const LITTLE_PATIENCE: Duration = Duration::from_secs(5);

/// An agent on an SDK, and the version that is spoken with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    language: Language,
    script: &'static str,
    pub(super) version: Version,
    /// Whether it is one of 1.x that speaks 0.3 as well, and is asked to.
    compat: bool,
    /// Whether it knows the words of the demo server in place of its own.
    demo: bool,
}

const fn server(language: Language, script: &'static str, version: Version) -> Server {
    Server { language, script, version, compat: false, demo: false }
}

pub(super) const PYTHON: Server =
    server(Language::Python("1.x"), "python/serve_1x.py", Version::V1_0);
pub(super) const PYTHON_0_3: Server =
    server(Language::Python("0.3"), "python/serve_0x.py", Version::V0_3);
pub(super) const JS: Server = server(Language::JavaScript, "js/serve_1x.mjs", Version::V1_0);
pub(super) const JS_0_3: Server = server(Language::JavaScript, "js/serve_0_3.mjs", Version::V0_3);

/// Every SDK over every binding it has.
const SERVERS: [Server; 6] = [
    PYTHON,
    Server { compat: true, version: Version::V0_3, ..PYTHON },
    PYTHON_0_3,
    JS,
    Server { compat: true, version: Version::V0_3, ..JS },
    JS_0_3,
];

/// Something to ask for.
struct Operation {
    group: &'static str,
    key: &'static str,
    title: &'static str,
    ask: for<'a> fn(&'a Peer<'a>) -> BoxFuture<'a, Checked>,
}

macro_rules! operations {
    ($($group:literal $module:ident { $($ask:ident $title:literal)+ })+) => {
        const OPERATIONS: &[Operation] = &[$($(Operation {
            group: $group,
            key: stringify!($ask),
            title: $title,
            ask: |peer| Box::pin($module::$ask(peer)),
        }),+),+];
    };
}

operations! {
    "Cards" cards {
        card "the card is found, and this binding in it"
        signature "a signed card is believed by its key, and by no other"
        extended_card "the extended card"
    }
    "Sending" sending {
        send "send, and wait for the answer"
        text "text of every script, and long text"
        context "a context that we chose"
        immediately "send without waiting, then look until done"
        message "a message as the answer, without a task"
        file_bytes "a file's bytes, there and back"
        file_url "a file's address, there and back"
        file_name "a file's name, there and back"
        data "structured data, there and back"
        failed "a task that fails"
        rejected "a task that is rejected"
        input_required "a question, and its answer as a second message"
        auth_required "a demand for credentials, and going on afterwards"
    }
    "Streaming" streaming {
        stream "send and stream: order, ids, end"
        stream_message "a message as the only event"
        chunks "an artifact in chunks, whole when put together"
        burst "many events at once, none lost"
        stream_failed "a stream that ends in failure"
        stream_question "a stream that ends in a question, and a second one"
        left "a task goes on without its reader"
        cut "a stream that is cut twice goes on to its end: nothing is missing"
        cut_once "a stream that is cut twice: nothing is told twice"
        not_streamed "a task is followed although the agent does not stream"
    }
    "Tasks" tasks {
        get "get a task, with all of its history"
        get_some "get a task, with some of its history"
        get_none "get a task, with none of its history"
        list "list by context and state, with and without artifacts"
        pages "list page by page"
        cancel "cancel a running task"
        cancel_waiting "cancel a task that waits for an answer"
        subscribe "subscribe to a running task, to its end"
        subscribe_canceled "a subscriber sees the cancellation"
        follow "follow a running task that somebody else began"
    }
    "Webhooks" webhooks {
        push_create "make a webhook, and be told what was made"
        push_get "get a webhook"
        push_list "list webhooks"
        push_delete "delete a webhook"
        push_send "send with a webhook: it is called, with the token"
    }
    "Refusals" refusals {
        unknown_get "get an unknown task"
        unknown_cancel "cancel an unknown task"
        unknown_subscribe "subscribe to an unknown task"
        unknown_send "send to an unknown task"
        unknown_stream "stream to an unknown task"
        finished_send "send to a finished task"
        finished_cancel "cancel a finished task"
        finished_subscribe "subscribe to a finished task"
        other_context "send to a task with another context"
        no_parts "send without parts"
        page_token "a page token that nobody gave out"
        content_type "a media type that the agent does not read"
        agent_refuses "errors that the agent raises, each by its meaning, or tasks that fail by them"
        agent_crashes "an agent that crashes, or a task that fails by it"
        no_streaming "stream, without streaming"
        no_push_create "make a webhook, without push notifications"
        no_push_get "get a webhook, without push notifications"
        no_extended_card "the extended card, without one"
        no_version "insist on a version that the card does not offer"
        wrong_version "speak a version that the server does not"
    }
}

/// Every operation, in order: its group, its key and what it is.
pub(super) fn operations() -> Vec<(String, String, String)> {
    let row = |it: &Operation| (it.group.to_owned(), it.key.to_owned(), it.title.to_owned());
    OPERATIONS.iter().map(row).collect()
}

/// Asks every server for everything.
pub(super) async fn run() -> Vec<Column> {
    let columns = join_all(SERVERS.iter().map(Server::run)).await;
    columns.into_iter().flatten().collect()
}

/// Asks every server for everything through gateways, in another version than its own.
pub(super) async fn run_through() -> Vec<Column> {
    let servers = [PYTHON, PYTHON_0_3, JS, JS_0_3];
    let columns = servers.iter().enumerate().map(|(turn, server)| {
        let other = match server.version {
            Version::V1_0 => Version::V0_3,
            Version::V0_3 | Version::V0_1 => Version::V1_0,
        };
        server.run_through(other, turn)
    });
    join_all(columns).await.into_iter().flatten().collect()
}

impl Server {
    /// The same with the words of the demo server.
    pub(super) fn demonstrating(self) -> Self {
        Self { demo: true, ..self }
    }

    pub(super) fn name(&self) -> String {
        self.language.name(self.script, self.compat)
    }

    async fn run(&self) -> Vec<Column> {
        let process = Process::start(self).await;
        let mut columns = Vec::new();
        for &binding in Binding::ALL {
            let front = Front::direct(&process);
            let why = |operation: &str| why(CANNOT, &self.name(), binding, operation);
            let fates = ask(&front, self.version, binding, why).await;
            columns.push(Column { name: self.name(), binding, fates });
        }
        columns
    }

    /// The same through gateways, which are called in a version, over every binding, and call the server
    /// over another one, from a certain one on.
    async fn run_through(&self, version: Version, first: usize) -> Vec<Column> {
        let process = Process::start(self).await;
        let pairs: Vec<_> =
            Binding::ALL.iter().zip(Binding::ALL.iter().cycle().skip(first)).collect();
        let spoken: String = pairs.iter().map(|(_, it)| it.letter()).collect();
        let mut columns = Vec::new();
        for (&binding, &behind) in pairs {
            let front = Front::through(&process, self, behind);
            let why = |operation: &str| {
                why(CANNOT_ASK, version.as_str(), binding, operation)
                    .or_else(|| why(CANNOT_THROUGH, &self.name(), behind, operation))
            };
            let fates = ask(&front, version, binding, why).await;
            let name = format!("{version} → {} ({spoken})", self.name());
            columns.push(Column { name, binding, fates });
        }
        columns
    }
}

/// Asks for everything, but for some of it in vain, for a reason.
async fn ask(
    front: &Front<'_>,
    version: Version,
    binding: Binding,
    why: impl Fn(&str) -> Option<&'static str>,
) -> Vec<Fate> {
    let mut peer = Peer::connect(front, version, binding).await;
    let mut fates = Vec::new();
    for operation in OPERATIONS {
        let reason = why(operation.key);
        let patience = if reason.is_some() { LITTLE_PATIENCE } else { PATIENCE };
        let fate = operation.fate(&peer, patience).await.unless(reason);
        // Some servers close their connections behind an error, without a word.
        if !matches!(fate, Fate::Worked { .. }) {
            peer = Peer::connect(front, version, binding).await;
        }
        fates.push(fate);
    }
    fates
}

impl Operation {
    async fn fate(&self, peer: &Peer<'_>, patience: Duration) -> Fate {
        let asked = timeout(patience, (self.ask)(peer)).await;
        let asked = asked.unwrap_or_else(|_| Err("it hangs".into()));
        match asked {
            Ok(()) => Fate::Worked { note: None },
            Err(error) => Fate::Failed { detail: error.to_string() },
        }
    }
}
