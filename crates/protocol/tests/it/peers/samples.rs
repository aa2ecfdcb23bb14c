//! Deterministic samples of every message type.

use std::fmt::Debug;
use std::sync::LazyLock;

use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    GetExtendedAgentCardRequest, Operation, Request, SendMessageResponse, StreamResponse,
};
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Strategy, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::arbitrary::{
    ComparableReply, artifact_update, message, non_empty_text, page, push_config, push_configs,
    request, status_update, task,
};
use crate::cards::arbitrary::card;

/// Number of samples per kind of message.
const SAMPLES_PER_KIND: usize = 60;

/// Returns requests of `operation`.
pub(super) fn requests(operation: Operation) -> Vec<Request> {
    static ALL: LazyLock<Vec<Request>> = LazyLock::new(all_requests);
    let samples: Vec<_> = ALL.iter().filter(|it| it.operation() == operation).cloned().collect();
    assert!(samples.len() >= SAMPLES_PER_KIND, "{} samples of {operation:?}", samples.len());
    samples.into_iter().take(SAMPLES_PER_KIND).collect()
}

fn all_requests() -> Vec<Request> {
    let card = of(non_empty_text())
        .prop_map(|tenant| Request::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant }));
    // Cards are one sample in eleven: enough of each kind.
    draw(prop_oneof![10 => request(), 1 => card], SAMPLES_PER_KIND * 20)
}

/// Returns replies to `operation` with matching requests; `None` if the reply is a stream, a card
/// or empty.
pub(super) fn replies(operation: Operation) -> Option<Vec<(Request, ComparableReply)>> {
    let reply: BoxedStrategy<ComparableReply> = match operation {
        Operation::SendMessage => prop_oneof![
            task()
                .prop_map(|it| ComparableReply::SendMessage(SendMessageResponse::Task(it.into()))),
            message().prop_map(|it| ComparableReply::SendMessage(SendMessageResponse::Message(it))),
        ]
        .boxed(),
        Operation::GetTask | Operation::CancelTask => {
            task().prop_map(ComparableReply::Task).boxed()
        }
        Operation::ListTasks => page().prop_map(ComparableReply::TaskList).boxed(),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            push_config().prop_map(ComparableReply::PushConfig).boxed()
        }
        Operation::ListTaskPushNotificationConfigs => {
            push_configs().prop_map(ComparableReply::PushConfigList).boxed()
        }
        Operation::SendStreamingMessage
        | Operation::SubscribeToTask
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::GetAgentCard => return None,
    };
    Some(requests(operation).into_iter().zip(draw(reply, SAMPLES_PER_KIND)).collect())
}

/// Returns events of all four kinds.
pub(super) fn events() -> Vec<StreamResponse> {
    static ALL: LazyLock<Vec<StreamResponse>> = LazyLock::new(|| {
        let mut events = draw(task().prop_map(StreamResponse::Task), SAMPLES_PER_KIND);
        events.extend(draw(message().prop_map(StreamResponse::Message), SAMPLES_PER_KIND));
        events
            .extend(draw(status_update().prop_map(StreamResponse::StatusUpdate), SAMPLES_PER_KIND));
        events.extend(draw(
            artifact_update().prop_map(StreamResponse::ArtifactUpdate),
            SAMPLES_PER_KIND,
        ));
        events
    });
    ALL.clone()
}

/// Returns cards.
pub(super) fn cards() -> Vec<AgentCard> {
    static ALL: LazyLock<Vec<AgentCard>> = LazyLock::new(|| draw(card(), SAMPLES_PER_KIND));
    ALL.clone()
}

fn draw<T: Debug>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let mut draw = || strategy.new_tree(&mut runner).expect("generated sample").current();
    (0..count).map(|_| draw()).collect()
}
