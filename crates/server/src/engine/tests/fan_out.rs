//! Many readers of one task.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const READERS: usize = 1_000;
const SLOW: usize = 5;
const CHUNKS: u64 = 1_000;

/// Says many things, and between them lets others read.
async fn talker(turn: Turn) -> Result<(), Failure> {
    if turn.task().is_none() {
        turn.ask("shall I?").await?;
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
async fn everybody_gets_the_whole_log_in_order_and_slow_readers_make_nobody_wait() {
    let registry = Registry::new([Agent::from_fn("talker", talker)]).unwrap();
    let store = Arc::new(MemoryStore::default());
    let engine = Engine::new(Arc::new(registry), store, Limits::default());
    let asked = task(&engine, says("hello")).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut readers = tokio::task::JoinSet::new();
    for number in 0..READERS {
        let call = subscribe(&asked, None);
        let Reply::Stream(mut stream) = engine.call(call).await.unwrap().reply else { panic!() };
        let over = Arc::clone(&over);
        readers.spawn(async move {
            let mut seen = Vec::new();
            while let Some(event) = stream.next().await {
                seen.push(event.unwrap().revision.unwrap().get());
                if number < SLOW && seen.len() == 10 {
                    // Stops reading until all is said and done.
                    while !over.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
            }
            seen
        });
    }
    let done = task(&engine, answers(&asked, "yes")).await;
    assert_eq!(done.status.state, TaskState::Completed);
    over.store(true, Ordering::Relaxed);
    // Asked at 3, answered at 4 (which no stream shows), worked at 5, then pieces, then the end.
    let want: Vec<u64> = [3].into_iter().chain(5..=5 + CHUNKS + 1).collect();
    let mut complete = 0;
    while let Some(seen) = readers.join_next().await {
        assert_eq!(seen.unwrap(), want);
        complete += 1;
    }
    assert_eq!(complete, READERS);
}
