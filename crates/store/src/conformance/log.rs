//! Reading logs.

use latimer_protocol::{Revision, TaskState};

use super::Home;
use super::script::{ROOMY, Script, append};
use crate::TaskStore;

pub(super) async fn a_log_is_read_in_pages(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for size in [1, 3, 2, 5] {
        let events = (0..size).map(|it| script.piece(&it.to_string())).collect();
        append(&*store, script.then(events)).await;
    }
    append(&*store, script.change(TaskState::Completed, 2)).await;
    let all = script.logged();
    for after in 0..all.len() + 3 {
        for limit in [0, 1, 2, 3, 4, 7, all.len(), usize::MAX] {
            let read = store.events(&script.key, Revision::new(after as u64), limit).await;
            let want: Vec<_> = all.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(read.expect("reads"), want, "at most {limit} events after {after}");
        }
    }
    let last = store.events(&script.key, Revision::new(u64::MAX), 10).await;
    assert_eq!(last.expect("reads"), [], "nothing is behind the last revision there can be");
}

pub(super) async fn a_log_that_is_not_there_is_empty(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for other in
        [Script::new("u"), Script::of("else", "agent", "t"), Script::of("caller", "b", "t")]
    {
        let read = store.events(&other.key, Revision::START, 10).await.expect("reads");
        assert_eq!(read, [], "{:?} has no log", other.key);
    }
}

pub(super) async fn a_long_log_is_read_to_its_end(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    while script.events.len() < 10_000 {
        let events = (0..99).map(|it| script.piece(&it.to_string())).collect();
        append(&*store, script.then(events)).await;
    }
    read_through(&*store, &script, 700).await;
    append(&*store, script.change(TaskState::Completed, 2)).await;
    script.check(&*store).await;
}

pub(super) async fn a_long_append_is_one_append(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    let pieces = (0..1_999).map(|it| script.piece(&it.to_string()));
    let events = std::iter::once(script.creation(1)).chain(pieces).collect();
    append(&*store, script.then(events)).await;
    read_through(&*store, &script, 300).await;
    let events = (0..1_000).map(|it| script.piece(&it.to_string())).collect();
    append(&*store, script.then(events)).await;
    append(&*store, script.grow("the last")).await;
    read_through(&*store, &script, 333).await;
    script.check(&*store).await;
}

/// Reads a log page by page, as a reader with a cursor does.
async fn read_through(store: &dyn TaskStore, script: &Script, limit: usize) {
    let (mut read, mut cursor) = (Vec::new(), Revision::START);
    loop {
        let page = store.events(&script.key, cursor, limit).await.expect("reads");
        let Some(last) = page.last() else { break };
        cursor = last.revision;
        read.extend(page);
    }
    assert_eq!(read, script.logged(), "a log in pages of {limit}");
}
