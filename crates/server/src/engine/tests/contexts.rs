//! Several messages in one context.

use super::*;

#[tokio::test]
async fn queue_policy_runs_context_tasks_in_order() {
    let engine =
        engine_with(Policy { context_concurrency: ContextConcurrency::Queue, ..Policy::default() });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    let first = send_for_task(&engine, in_context(immediate_request("wait 30"))).await;
    let second = send_for_task(&engine, in_context(immediate_request("hello"))).await;
    assert_eq!(second.status.state, TaskState::Submitted, "the task waits in the queue");
    let third = send_for_task(&engine, in_context(user_request("hello again"))).await;
    assert_eq!(third.status.state, TaskState::Completed);
    for done in [&first, &second] {
        assert_eq!(get(&engine, done).await.unwrap().status.state, TaskState::Completed);
    }
    assert!(engine.0.context_queue.is_empty());
}

#[tokio::test]
async fn reject_policy_refuses_busy_context() {
    let engine = engine_with(Policy {
        context_concurrency: ContextConcurrency::Reject,
        ..Policy::default()
    });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    let first = send_for_task(&engine, in_context(immediate_request("wait 60000"))).await;
    let error = send(&engine, in_context(user_request("hello"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    cancel(&engine, &first).await.unwrap();
    let interrupted = send_for_task(&engine, in_context(user_request("ask what?"))).await;
    assert_eq!(interrupted.status.state, TaskState::InputRequired);
    assert_eq!(
        send_for_task(&engine, follow_up_request(&interrupted, "this")).await.status.state,
        TaskState::Completed
    );
}

#[tokio::test]
async fn mismatched_context_id_is_rejected_without_change() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    let mut wrong = follow_up_request(&interrupted, "this");
    wrong.message.context_id = Some(ids::context());
    let error = send(&engine, wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(get(&engine, &interrupted).await.unwrap(), interrupted);
}

#[tokio::test]
async fn queue_policy_allows_direct_replies() {
    let engine = engine_with(Policy {
        context_concurrency: ContextConcurrency::Queue,
        direct_replies: true,
        ..Policy::default()
    });
    let reply = send(&engine, user_request("say hi")).await.unwrap();
    assert!(matches!(reply, SendMessageResponse::Message(_)), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn queued_task_acknowledges_follow_up_immediately() {
    let engine =
        engine_with(Policy { context_concurrency: ContextConcurrency::Queue, ..Policy::default() });
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    send_for_task(&engine, in_context(immediate_request("wait 4000"))).await;
    let queued = send_for_task(&engine, in_context(immediate_request("ask what?"))).await;
    let started_at = tokio::time::Instant::now();
    let acknowledged = send_for_task(&engine, immediate_follow_up(&queued, "this")).await;
    assert!(started_at.elapsed() < Duration::from_secs(1));
    assert_eq!(acknowledged.history.len(), 2);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let done = get(&engine, &queued).await.unwrap();
    assert_eq!((done.status.state, done.text().as_str()), (TaskState::Completed, "this"));
    let texts: Vec<_> = done.history.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["ask what?", "this", "what?"], "each message is stored once");
}
