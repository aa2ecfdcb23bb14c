//! Several messages in one conversation.

use super::*;

#[tokio::test]
async fn a_conversation_can_be_one_thing_after_the_other() {
    let engine = engine_with(Policy { contexts: Contexts::Queue, ..Policy::default() });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    let first = task(&engine, in_context(at_once("wait 30"))).await;
    let second = task(&engine, in_context(at_once("hello"))).await;
    assert_eq!(second.status.state, TaskState::Submitted, "it waits");
    let third = task(&engine, in_context(says("hello again"))).await;
    assert_eq!(third.status.state, TaskState::Completed);
    for done in [&first, &second] {
        assert_eq!(get(&engine, done).await.unwrap().status.state, TaskState::Completed);
    }
    assert!(engine.0.lanes.is_empty());
}

#[tokio::test]
async fn a_conversation_can_be_busy() {
    let engine = engine_with(Policy { contexts: Contexts::Reject, ..Policy::default() });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    let first = task(&engine, in_context(at_once("wait 60000"))).await;
    let error = send(&engine, in_context(says("hello"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    cancel(&engine, &first).await.unwrap();
    let asked = task(&engine, in_context(says("ask what?"))).await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    assert_eq!(task(&engine, answers(&asked, "this")).await.status.state, TaskState::Completed);
}

#[tokio::test]
async fn the_wrong_conversation_is_refused_and_nothing_changes() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    let mut wrong = answers(&asked, "this");
    wrong.message.context_id = Some(ids::context());
    let error = send(&engine, wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(get(&engine, &asked).await.unwrap(), asked);
}

#[tokio::test]
async fn a_queue_changes_nothing_about_direct_answers() {
    let engine = engine_with(Policy { contexts: Contexts::Queue, ..Policy::default() });
    let sent = send(&engine, says("say hi")).await.unwrap();
    assert!(matches!(sent, SendMessageResponse::Message(_)), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_queued_task_hears_at_once() {
    let engine = engine_with(Policy { contexts: Contexts::Queue, ..Policy::default() });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    task(&engine, in_context(at_once("wait 4000"))).await;
    let queued = task(&engine, in_context(at_once("ask what?"))).await;
    let begun = tokio::time::Instant::now();
    let told = task(&engine, answers_at_once(&queued, "this")).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(told.history.len(), 2);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let done = get(&engine, &queued).await.unwrap();
    assert_eq!((done.status.state, done.text().as_str()), (TaskState::Completed, "this"));
    let said: Vec<_> = done.history.iter().map(|it| it.text()).collect();
    assert_eq!(said, ["ask what?", "this", "what?"], "once each");
}
