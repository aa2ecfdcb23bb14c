//! Rules about loading: a task is the fold of its log, with or without snapshots.

use std::sync::Arc;

use latimer_protocol::{Dialect, Event, TaskState};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, message};
use crate::PendingWork;

pub(super) async fn missing_task_is_not_found(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    Script::new("t").assert_absent(&*store).await;
    append(&*store, Script::new("t").create(1)).await;
    Script::new("T").assert_absent(&*store).await;
    Script::new("t ").assert_absent(&*store).await;
}

pub(super) async fn loaded_task_is_fold_of_its_log(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    script.assert_stored(&*store).await;
    for round in 0..12 {
        let events = vec![
            script.status_event(TaskState::Working, 2 + round),
            Event::Message(message(&format!("m{round}"), "text").into()),
            script.chunk_event(&round.to_string()),
        ];
        append(&*store, script.append_events(events)).await;
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn loaded_task_is_snapshot_plus_later_events(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for interval in [1, 2, 5] {
        let mut script = Script::new(&format!("every {interval}"));
        append(&*store, script.create(1)).await;
        for round in 0..12 {
            let mut next = script.append_chunk(&round.to_string());
            next.snapshot = (round % interval == 0).then(|| Arc::new(script.task.clone()));
            append(&*store, next).await;
            script.assert_stored(&*store).await;
        }
        append(&*store, script.set_status(TaskState::InputRequired, 2)).await;
        script.assert_stored(&*store).await;
        append(&*store, script.set_status(TaskState::Working, 3)).await;
        append(&*store, script.set_status(TaskState::Completed, 4)).await;
        script.assert_stored(&*store).await;
    }
    let mut finished = Script::new("single append");
    append(&*store, finished.create_finished(1)).await;
    finished.assert_stored(&*store).await;
}

pub(super) async fn header_round_trips(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for dialect in Dialect::ALL {
        for work in [PendingWork::None, PendingWork::Queued, PendingWork::Running] {
            let mut script = Script::new(&format!("{dialect:?} {work:?}")).with_context("c");
            script.header.created_in = dialect;
            let mut create = script.create(1);
            (script.header.pending_work, create.header.pending_work) = (work, work);
            append(&*store, create).await;
            script.assert_stored(&*store).await;
            let mut next = script.set_status(TaskState::Working, 5);
            (script.header.pending_work, next.header.pending_work) = (work, work);
            append(&*store, next).await;
            script.assert_stored(&*store).await;
        }
    }
    for notes in [[None, Some("a")], [Some("a"), Some("b")], [Some("b"), None]] {
        let mut script = Script::new(&format!("{notes:?}"));
        let [first_note, second_note] = notes.map(|it| it.map(Into::into));
        script.header.note = first_note;
        append(&*store, script.create(1)).await;
        append(&*store, script.set_status(TaskState::Working, 1)).await;
        script.assert_stored(&*store).await;
        // Only the note of the header changes.
        script.header.note = second_note;
        append(&*store, script.append_chunk("chunk")).await;
        script.assert_stored(&*store).await;
    }
    for (number, state) in TaskState::ALL.into_iter().enumerate().skip(1) {
        let mut script = Script::new(&format!("state {number}"));
        append(&*store, script.create(1)).await;
        append(&*store, script.set_status(state, 1)).await;
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn repeated_snapshot_event_replaces_task(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.append_chunk("old")).await;
    let mut replacement = script.task.clone();
    replacement.artifacts.clear();
    replacement.history.push(message("m", "replacement").into());
    append(&*store, script.append_events(vec![Event::Created(replacement)])).await;
    append(&*store, script.append_chunk("new")).await;
    script.assert_stored(&*store).await;
}
