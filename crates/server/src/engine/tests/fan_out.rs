//! Many readers of one task.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const READERS: usize = 1_000;
const SLOW_READERS: usize = 5;
const CHUNKS: u64 = 1_000;

/// Agent that emits many chunks and yields after each.
async fn chatty_agent(turn: Turn) -> Result<(), AgentFailure> {
    if turn.task().is_none() {
        turn.request_input("shall I?").await?;
        return Ok(());
    }
    let mut out = turn.artifact("chunks");
    for number in 1..=CHUNKS {
        out.push(number.to_string()).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reader_gets_complete_log_despite_slow_readers() {
    let registry = AgentRegistry::new([Agent::from_fn("talker", chatty_agent)]).unwrap();
    let store = Arc::new(MemoryStore::default());
    let engine = Engine::new(Arc::new(registry), store, EngineLimits::default());
    let interrupted = send_for_task(&engine, user_request("hello")).await;
    let finished = Arc::new(AtomicBool::new(false));
    let mut readers = tokio::task::JoinSet::new();
    for number in 0..READERS {
        let call = subscribe(&interrupted, None);
        let ReplyKind::Stream(mut stream) = engine.call(call).await.unwrap().kind else { panic!() };
        let finished = Arc::clone(&finished);
        readers.spawn(async move {
            let mut received = Vec::new();
            while let Some(event) = stream.next().await {
                received.push(event.unwrap().revision.unwrap().get());
                if number < SLOW_READERS && received.len() == 10 {
                    // Stops reading until the task is finished.
                    while !finished.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
            }
            received
        });
    }
    let done = send_for_task(&engine, follow_up_request(&interrupted, "yes")).await;
    assert_eq!(done.status.state, TaskState::Completed);
    finished.store(true, Ordering::Relaxed);
    // Revision 3 is the question, 4 the follow-up (only in the history), 5 the working status; then
    // the chunks and the final status.
    let want: Vec<u64> = [3].into_iter().chain(5..=5 + CHUNKS + 1).collect();
    let mut complete = 0;
    while let Some(received) = readers.join_next().await {
        assert_eq!(received.unwrap(), want);
        complete += 1;
    }
    assert_eq!(complete, READERS);
}
