//! Loading: a task is the fold of its log, whatever was kept of it on the way.

use std::sync::Arc;

use latimer_protocol::{Dialect, Event, TaskState};

use super::Home;
use super::script::{ROOMY, Script, append, message};
use crate::Work;

pub(super) async fn what_was_never_there_is_not_found(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    Script::new("t").check_gone(&*store).await;
    append(&*store, Script::new("t").create(1)).await;
    Script::new("T").check_gone(&*store).await;
    Script::new("t ").check_gone(&*store).await;
}

pub(super) async fn a_task_is_the_fold_of_its_log(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    script.check(&*store).await;
    for round in 0..12 {
        let events = vec![
            script.status(TaskState::Working, 2 + round),
            Event::Message(message(&format!("m{round}"), "said").into()),
            script.piece(&round.to_string()),
        ];
        append(&*store, script.then(events)).await;
        script.check(&*store).await;
    }
}

pub(super) async fn a_task_is_its_snapshot_and_what_came_behind(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for every in [1, 2, 5] {
        let mut script = Script::new(&format!("every {every}"));
        append(&*store, script.create(1)).await;
        for round in 0..12 {
            let mut next = script.grow(&round.to_string());
            next.snapshot = (round % every == 0).then(|| Arc::new(script.task.clone()));
            append(&*store, next).await;
            script.check(&*store).await;
        }
        append(&*store, script.change(TaskState::InputRequired, 2)).await;
        script.check(&*store).await;
        append(&*store, script.change(TaskState::Working, 3)).await;
        append(&*store, script.change(TaskState::Completed, 4)).await;
        script.check(&*store).await;
    }
    let mut at_once = Script::new("at once");
    append(&*store, at_once.create_finished(1)).await;
    at_once.check(&*store).await;
}

pub(super) async fn a_header_is_kept_whole(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for dialect in Dialect::ALL {
        for work in [Work::None, Work::Waiting, Work::Running] {
            let mut script = Script::new(&format!("{dialect:?} {work:?}")).in_context("here");
            script.header.dialect = dialect;
            let mut create = script.create(1);
            (script.header.work, create.header.work) = (work, work);
            append(&*store, create).await;
            script.check(&*store).await;
            let mut next = script.change(TaskState::Working, 5);
            (script.header.work, next.header.work) = (work, work);
            append(&*store, next).await;
            script.check(&*store).await;
        }
    }
    for notes in [[None, Some("a")], [Some("a"), Some("b")], [Some("b"), None]] {
        let mut script = Script::new(&format!("{notes:?}"));
        let [before, behind] = notes.map(|it| it.map(Into::into));
        script.header.note = before;
        append(&*store, script.create(1)).await;
        append(&*store, script.change(TaskState::Working, 1)).await;
        script.check(&*store).await;
        // Nothing else in the header is another.
        script.header.note = behind;
        append(&*store, script.grow("piece")).await;
        script.check(&*store).await;
    }
    for (number, state) in TaskState::ALL.into_iter().enumerate().skip(1) {
        let mut script = Script::new(&format!("state {number}"));
        append(&*store, script.create(1)).await;
        append(&*store, script.change(state, 1)).await;
        script.check(&*store).await;
    }
}

pub(super) async fn a_task_may_be_told_anew(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.grow("old")).await;
    let mut told = script.task.clone();
    told.artifacts.clear();
    told.history.push(message("m", "what its owner says").into());
    append(&*store, script.then(vec![Event::Created(told)])).await;
    append(&*store, script.grow("new")).await;
    script.check(&*store).await;
}
