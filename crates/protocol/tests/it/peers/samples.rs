//! Samples of every type of message, the same in every run.

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
    Answer, artifact_update, message, page, push_config, push_configs, request, some_text,
    status_update, task,
};
use crate::cards::arbitrary::card;

/// How many of each type.
const COUNT: usize = 60;

/// Requests for `operation`.
pub(super) fn requests(operation: Operation) -> Vec<Request> {
    static ALL: LazyLock<Vec<Request>> = LazyLock::new(all_requests);
    let found: Vec<_> = ALL.iter().filter(|it| it.operation() == operation).cloned().collect();
    assert!(found.len() >= COUNT, "{} samples of {operation:?}", found.len());
    found.into_iter().take(COUNT).collect()
}

fn all_requests() -> Vec<Request> {
    let card = of(some_text())
        .prop_map(|tenant| Request::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant }));
    // One kind in eleven: enough for each of them.
    draw(prop_oneof![10 => request(), 1 => card], COUNT * 20)
}

/// Replies to `operation`, each with a request that it answers; none where the reply is a stream, a
/// card or nothing.
pub(super) fn answers(operation: Operation) -> Option<Vec<(Request, Answer)>> {
    let answer: BoxedStrategy<Answer> = match operation {
        Operation::SendMessage => prop_oneof![
            task().prop_map(|it| Answer::Sent(SendMessageResponse::Task(it.into()))),
            message().prop_map(|it| Answer::Sent(SendMessageResponse::Message(it))),
        ]
        .boxed(),
        Operation::GetTask | Operation::CancelTask => task().prop_map(Answer::Task).boxed(),
        Operation::ListTasks => page().prop_map(Answer::Tasks).boxed(),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            push_config().prop_map(Answer::PushConfig).boxed()
        }
        Operation::ListTaskPushNotificationConfigs => {
            push_configs().prop_map(Answer::PushConfigs).boxed()
        }
        Operation::SendStreamingMessage
        | Operation::SubscribeToTask
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::GetAgentCard => return None,
    };
    Some(requests(operation).into_iter().zip(draw(answer, COUNT)).collect())
}

/// Events of all four kinds.
pub(super) fn events() -> Vec<StreamResponse> {
    static ALL: LazyLock<Vec<StreamResponse>> = LazyLock::new(|| {
        let mut events = draw(task().prop_map(StreamResponse::Task), COUNT);
        events.extend(draw(message().prop_map(StreamResponse::Message), COUNT));
        events.extend(draw(status_update().prop_map(StreamResponse::StatusUpdate), COUNT));
        events.extend(draw(artifact_update().prop_map(StreamResponse::ArtifactUpdate), COUNT));
        events
    });
    ALL.clone()
}

/// Cards.
pub(super) fn cards() -> Vec<AgentCard> {
    static ALL: LazyLock<Vec<AgentCard>> = LazyLock::new(|| draw(card(), COUNT));
    ALL.clone()
}

fn draw<T: Debug>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let mut draw = || strategy.new_tree(&mut runner).expect("a sample").current();
    (0..count).map(|_| draw()).collect()
}
