//! Servers built with the official SDKs, and the checks of `latimer-client` against them.

mod call_target;
mod cards;
mod checks;
mod peer;
pub(super) mod process;
mod rejections;
mod sending;
mod streaming;
mod tasks;
pub(super) mod unsupported;
mod webhooks;

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use latimer_protocol::Version;
use tokio::time::timeout;

use super::page::Column;
use super::sdk::{Binding, CheckOutcome, Language, unsupported_reason};
use call_target::CallTarget;
use checks::CheckResult;
use peer::Peer;
use process::Process;
use unsupported::{UNSUPPORTED, UNSUPPORTED_FOR_VERSION, UNSUPPORTED_VIA_GATEWAY};

/// Time allowed for one check, sufficient on a slow machine.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// Time allowed for a check that is expected to fail.
const EXPECTED_FAILURE_TIMEOUT: Duration = Duration::from_secs(5);

/// Server built with an SDK, and the protocol version of its client.
#[derive(Clone, Copy, Debug)]
pub(super) struct SdkServer {
    language: Language,
    script: &'static str,
    pub(super) version: Version,
    /// Whether an SDK for 1.x runs in its compatibility mode for 0.3.
    compat: bool,
    /// Whether it supports the instructions of the demo server instead of its own.
    demo: bool,
}

const fn server(language: Language, script: &'static str, version: Version) -> SdkServer {
    SdkServer { language, script, version, compat: false, demo: false }
}

pub(super) const PYTHON: SdkServer =
    server(Language::Python("1.x"), "python/serve_1x.py", Version::V1_0);
pub(super) const PYTHON_0_3: SdkServer =
    server(Language::Python("0.3"), "python/serve_0x.py", Version::V0_3);
pub(super) const JS: SdkServer = server(Language::JavaScript, "js/serve_1x.mjs", Version::V1_0);
pub(super) const JS_0_3: SdkServer =
    server(Language::JavaScript, "js/serve_0_3.mjs", Version::V0_3);

const SERVERS: [SdkServer; 6] = [
    PYTHON,
    SdkServer { compat: true, version: Version::V0_3, ..PYTHON },
    PYTHON_0_3,
    JS,
    SdkServer { compat: true, version: Version::V0_3, ..JS },
    JS_0_3,
];

/// An operation with its check.
struct Operation {
    group: &'static str,
    key: &'static str,
    title: &'static str,
    check: for<'a> fn(&'a Peer<'a>) -> BoxFuture<'a, CheckResult>,
}

macro_rules! operations {
    ($($group:literal $module:ident { $($check:ident $title:literal)+ })+) => {
        const OPERATIONS: &[Operation] = &[$($(Operation {
            group: $group,
            key: stringify!($check),
            title: $title,
            check: |peer| Box::pin($module::$check(peer)),
        }),+),+];
    };
}

operations! {
    "Cards" cards {
        card "the card is discovered and lists this binding"
        signature "a signed card verifies with its key and with no other"
        extended_card "the extended card"
    }
    "Sending" sending {
        send "send and wait for the result"
        text "text in every script, and long text"
        context "a context id chosen by the client"
        return_immediately "send without waiting, then poll until completed"
        direct_reply "a direct reply: a message without a task"
        file_bytes "a file as bytes, in both directions"
        file_url "a file as a URL, in both directions"
        file_name "the name of a file, in both directions"
        data "structured data, in both directions"
        failed "a task that fails"
        rejected "a task that is rejected"
        input_required "input required, and the answer as a second message"
        auth_required "authentication required, and continuing afterwards"
    }
    "Streaming" streaming {
        stream "send and stream: order, ids, end"
        stream_message "a message as the only event"
        chunks "an artifact in chunks, complete when joined"
        burst "many events at once without loss"
        stream_failed "a stream that ends with a failed task"
        stream_question "a stream that ends with input required, and a second one"
        reader_disconnects "a disconnected reader does not stop the task"
        cut_stream_is_complete "a stream that is interrupted twice is complete"
        cut_stream_repeats_nothing "a stream that is interrupted twice repeats nothing"
        not_streamed "a task is followed if the agent does not stream"
    }
    "Tasks" tasks {
        get "get a task with all history"
        get_some "get a task with some history"
        get_none "get a task with no history"
        list "list by context and state, with and without artifacts"
        pages "list page by page"
        cancel "cancel a running task"
        cancel_waiting "cancel a task that requires input"
        subscribe "subscribe to a running task until it is completed"
        subscribe_canceled "a subscriber receives the cancellation"
        follow "follow a running task that another client created"
    }
    "Webhooks" webhooks {
        push_create "create a webhook and receive its configuration"
        push_get "get a webhook"
        push_list "list webhooks"
        push_delete "delete a webhook"
        push_send "send with a webhook: it is called with its token"
    }
    "Errors" rejections {
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
        page_token "an invalid page token"
        content_type "a media type that the agent does not accept"
        agent_refuses "errors of the agent, as the right error or as a failed task"
        agent_crashes "a crash of the agent, as an error or as a failed task"
        no_streaming "stream from an agent without streaming"
        no_push_create "create a webhook without push notifications"
        no_push_get "get a webhook without push notifications"
        no_extended_card "get the extended card of an agent without one"
        no_version "require a version that the card does not offer"
        wrong_version "use a version that the server does not support"
    }
}

/// Returns group, key and title of every operation, in order.
pub(super) fn operations() -> Vec<(String, String, String)> {
    let row = |it: &Operation| (it.group.to_owned(), it.key.to_owned(), it.title.to_owned());
    OPERATIONS.iter().map(row).collect()
}

/// Runs all checks against every server.
pub(super) async fn run() -> Vec<Column> {
    let columns = join_all(SERVERS.iter().map(SdkServer::run)).await;
    columns.into_iter().flatten().collect()
}

/// Runs all checks against every server through gateways, with another version than that of the
/// server.
pub(super) async fn run_via_gateway() -> Vec<Column> {
    let servers = [PYTHON, PYTHON_0_3, JS, JS_0_3];
    let columns = servers.iter().enumerate().map(|(offset, server)| {
        let other = match server.version {
            Version::V1_0 => Version::V0_3,
            Version::V0_3 | Version::V0_1 => Version::V1_0,
        };
        server.run_via_gateway(other, offset)
    });
    join_all(columns).await.into_iter().flatten().collect()
}

impl SdkServer {
    /// Returns the server with the instructions of the demo server.
    pub(super) fn with_demo_instructions(self) -> Self {
        Self { demo: true, ..self }
    }

    pub(super) fn name(&self) -> String {
        self.language.name(self.script, self.compat)
    }

    async fn run(&self) -> Vec<Column> {
        let process = Process::start(self).await;
        let mut columns = Vec::new();
        for &binding in Binding::ALL {
            let target = CallTarget::direct(&process);
            let reason_for =
                |operation: &str| unsupported_reason(UNSUPPORTED, &self.name(), binding, operation);
            let outcomes = run_checks(&target, self.version, binding, reason_for).await;
            columns.push(Column { name: self.name(), binding, outcomes });
        }
        columns
    }

    /// Runs all checks through gateways. The client uses `version` and every binding; the gateways
    /// use the bindings that start at `offset`.
    async fn run_via_gateway(&self, version: Version, offset: usize) -> Vec<Column> {
        let process = Process::start(self).await;
        let pairs: Vec<_> =
            Binding::ALL.iter().zip(Binding::ALL.iter().cycle().skip(offset)).collect();
        let binding_letters: String = pairs.iter().map(|(_, it)| it.letter()).collect();
        let mut columns = Vec::new();
        for (&binding, &upstream_binding) in pairs {
            let target = CallTarget::via_gateway(&process, self, upstream_binding);
            let reason_for = |operation: &str| {
                unsupported_reason(UNSUPPORTED_FOR_VERSION, version.as_str(), binding, operation)
                    .or_else(|| {
                        unsupported_reason(
                            UNSUPPORTED_VIA_GATEWAY,
                            &self.name(),
                            upstream_binding,
                            operation,
                        )
                    })
            };
            let outcomes = run_checks(&target, version, binding, reason_for).await;
            let name = format!("{version} → {} ({binding_letters})", self.name());
            columns.push(Column { name, binding, outcomes });
        }
        columns
    }
}

/// Runs all checks. Those with a reason are expected to fail.
async fn run_checks(
    target: &CallTarget<'_>,
    version: Version,
    binding: Binding,
    reason_for: impl Fn(&str) -> Option<&'static str>,
) -> Vec<CheckOutcome> {
    let mut peer = Peer::connect(target, version, binding).await;
    let mut outcomes = Vec::new();
    for operation in OPERATIONS {
        let reason = reason_for(operation.key);
        let limit = if reason.is_some() { EXPECTED_FAILURE_TIMEOUT } else { CHECK_TIMEOUT };
        let outcome = operation.run(&peer, limit).await.expect_unsupported(reason);
        // Some servers close the connection after an error.
        if !matches!(outcome, CheckOutcome::Passed { .. }) {
            peer = Peer::connect(target, version, binding).await;
        }
        outcomes.push(outcome);
    }
    outcomes
}

impl Operation {
    async fn run(&self, peer: &Peer<'_>, limit: Duration) -> CheckOutcome {
        let result = timeout(limit, (self.check)(peer)).await;
        let result = result.unwrap_or_else(|_| Err("timeout".into()));
        match result {
            Ok(()) => CheckOutcome::Passed { note: None },
            Err(error) => CheckOutcome::Failed { detail: error.to_string() },
        }
    }
}
