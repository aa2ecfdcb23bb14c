//! Tasks that wait for their callers come to an end.

use latimer_store::Retention;

use super::*;

async fn start_engine(retention: Retention) -> Engine {
    let registry = AgentRegistry::new([Agent::from_fn("test", scripted_agent)]).unwrap();
    let store = Arc::new(MemoryStore::new(retention));
    let engine = Engine::new(Arc::new(registry), store, EngineLimits::default());
    engine.recover().await.unwrap();
    engine
}

async fn send_question(engine: &Engine, caller: &str) -> Arc<Task> {
    let mut call = Call::new(Request::SendMessage(user_request("ask what?")));
    if !caller.is_empty() {
        call.context.caller = latimer_protocol::Caller::new(caller);
    }
    match engine.call(call).await.unwrap().kind {
        ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn idle_question_is_canceled_with_a_reason() {
    let engine = start_engine(Retention {
        max_idle: Duration::ZERO,
        sweep_interval: Duration::from_secs(60),
        ..Retention::DEFAULT_MEMORY
    })
    .await;
    let task = send_question(&engine, "").await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    let ended = get(&engine, &task).await.unwrap();
    assert_eq!(ended.status.state, TaskState::Canceled);
    let reason = ended.status.message.as_ref().unwrap().text();
    assert!(reason.contains("waited for a message"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn unanswered_questions_leave_room_for_new_sends() {
    let engine = start_engine(Retention { max_tasks: 3, ..Retention::DEFAULT_MEMORY }).await;
    for _ in 0..20 {
        send_question(&engine, "").await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let done = send_for_task(&engine, user_request("hello")).await;
        assert_eq!(done.status.state, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn owner_with_most_questions_loses_the_oldest() {
    let engine = start_engine(Retention { max_tasks: 10, ..Retention::DEFAULT_MEMORY }).await;
    let only = send_question(&engine, "one").await;
    let mut many = Vec::new();
    for _ in 0..6 {
        many.push(send_question(&engine, "many").await);
        // Timestamps are those of the real clock, in milliseconds.
        std::thread::sleep(Duration::from_millis(2));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let state = async |caller: &str, task: &Task| {
        let request = Request::GetTask(GetTaskRequest::from(task.id.clone()));
        let mut call = Call::new(request);
        call.context.caller = latimer_protocol::Caller::new(caller);
        match engine.call(call).await.unwrap().kind {
            ReplyKind::Single(Reply::Task(task)) => task.status.state,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(state("one", &only).await, TaskState::InputRequired);
    let mut waiting = 0;
    for task in &many {
        waiting += usize::from(state("many", task).await == TaskState::InputRequired);
    }
    assert_eq!(waiting, 4, "five may wait");
    assert_eq!(state("many", &many[5]).await, TaskState::InputRequired);
}
