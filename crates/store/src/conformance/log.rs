//! Rules about reading logs.

use latimer_protocol::{Revision, TaskState};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append};
use crate::TaskStore;

pub(super) async fn log_is_readable_in_pages(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for size in [1, 3, 2, 5] {
        let events = (0..size).map(|it| script.chunk_event(&it.to_string())).collect();
        append(&*store, script.append_events(events)).await;
    }
    append(&*store, script.set_status(TaskState::Completed, 2)).await;
    let all = script.logged_events();
    for after in 0..all.len() + 3 {
        for limit in [0, 1, 2, 3, 4, 7, all.len(), usize::MAX] {
            let read = store.events(&script.key, Revision::new(after as u64), limit).await;
            let want: Vec<_> = all.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(read.expect("read succeeds"), want, "at most {limit} events after {after}");
        }
    }
    let last = store.events(&script.key, Revision::new(u64::MAX), 10).await;
    assert_eq!(last.expect("read succeeds"), [], "no event follows the maximum revision");
}

pub(super) async fn log_of_missing_task_is_empty(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for other in [
        Script::new("u"),
        Script::for_key("other", "agent", "t"),
        Script::for_key("caller", "b", "t"),
    ] {
        let read = store.events(&other.key, Revision::START, 10).await.expect("read succeeds");
        assert_eq!(read, [], "{:?} has no log", other.key);
    }
}

pub(super) async fn long_log_is_read_completely(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    while script.events.len() < 10_000 {
        let events = (0..99).map(|it| script.chunk_event(&it.to_string())).collect();
        append(&*store, script.append_events(events)).await;
    }
    read_through(&*store, &script, 700).await;
    append(&*store, script.set_status(TaskState::Completed, 2)).await;
    script.assert_stored(&*store).await;
}

pub(super) async fn large_append_is_readable_in_pages(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    let chunks = (0..1_999).map(|it| script.chunk_event(&it.to_string()));
    let events = std::iter::once(script.created_event(1)).chain(chunks).collect();
    append(&*store, script.append_events(events)).await;
    read_through(&*store, &script, 300).await;
    let events = (0..1_000).map(|it| script.chunk_event(&it.to_string())).collect();
    append(&*store, script.append_events(events)).await;
    append(&*store, script.append_chunk("last")).await;
    read_through(&*store, &script, 333).await;
    script.assert_stored(&*store).await;
}

/// Reads a log in pages, as a reader with a cursor does, and compares it with the script.
async fn read_through(store: &dyn TaskStore, script: &Script, limit: usize) {
    let (mut read, mut cursor) = (Vec::new(), Revision::START);
    loop {
        let page = store.events(&script.key, cursor, limit).await.expect("read succeeds");
        let Some(last) = page.last() else { break };
        cursor = last.revision;
        read.extend(page);
    }
    assert_eq!(read, script.logged_events(), "a log in pages of {limit}");
}
