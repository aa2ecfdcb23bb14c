//! Appending: compare and append, whole or not at all.

use std::sync::Arc;

use latimer_protocol::{Revision, TaskState};
use tokio::task::JoinSet;

use super::Home;
use super::script::{ROOMY, Script, all_of, append, sent, time};
use crate::{Append, Error, Retention, TaskStore};

/// How many writers race.
const WRITERS: usize = 16;

pub(super) async fn events_are_numbered_from_one(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    assert_eq!(append(&*store, script.create(1)).await, Revision::new(1));
    let events = vec![script.status(TaskState::Working, 2), script.piece("a"), script.piece("b")];
    assert_eq!(append(&*store, script.then(events)).await, Revision::new(4));
    assert_eq!(append(&*store, script.grow("c")).await, Revision::new(5));
    script.check(&*store).await;
}

pub(super) async fn a_task_is_created_once(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for _ in 0..2 {
        let again = Script::new("t").create(9);
        refuse_at(&*store, again, Revision::START, script.revision()).await;
        script.check(&*store).await;
        append(&*store, script.change(TaskState::InputRequired, 2)).await;
    }
    append(&*store, script.change(TaskState::Completed, 3)).await;
    let again = Script::new("t").create_finished(9);
    refuse_at(&*store, again, Revision::START, script.revision()).await;
    script.check(&*store).await;
}

pub(super) async fn a_full_store_knows_its_tasks(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 2, ..ROOMY }).await;
    let (mut finished, mut live) = (Script::new("finished"), Script::new("live"));
    append(&*store, finished.create_finished(1)).await;
    append(&*store, live.create(2)).await;
    for known in [&finished, &live] {
        let again = Script::new(known.key.id.as_str()).create(9);
        refuse_at(&*store, again, Revision::START, known.revision()).await;
    }
    finished.check(&*store).await;
    live.check(&*store).await;
}

pub(super) async fn a_task_that_is_not_there_is_not_continued(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    script.create(1);
    let next = script.grow("x");
    refuse_at(&*store, next, Revision::new(1), Revision::START).await;
    script.check_gone(&*store).await;
}

pub(super) async fn a_writer_at_another_revision_is_refused(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.grow("x")).await;
    append(&*store, script.grow("y")).await;
    for wrong in [1, 2, 4, 1_000, u64::MAX / 4] {
        let next = script.clone().grow("z");
        match store.append(Append { expected: Revision::new(wrong), ..next }).await {
            Err(Error::Conflict { expected, found, .. }) => {
                assert_eq!((expected.get(), found.get()), (wrong, 3), "the revisions it tells");
            }
            // A backend may refuse at once what is beyond any log.
            Err(Error::Unavailable { .. }) if wrong > 1_000 => {}
            other => panic!("an append at {wrong} of a task at 3: {other:?}"),
        }
        script.check(&*store).await;
    }
}

pub(super) async fn a_finished_task_never_changes(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for state in TaskState::ALL.into_iter().filter(|it| it.is_terminal()) {
        let mut script = Script::new(state.name());
        append(&*store, script.create(1)).await;
        let mut other = script.clone();
        append(&*store, script.change(state, 2)).await;
        let late = [
            other.clone().grow("x"),
            other.clone().change(TaskState::Working, 3),
            other.change(TaskState::Completed, 3),
        ];
        for mut late in late {
            // Whether the writer knows of the end or not.
            for expected in [1, 2] {
                late.expected = Revision::new(expected);
                match store.append(late.clone()).await {
                    Err(Error::Finished { task, state: told }) => {
                        assert_eq!((task, told), (script.key.id.clone(), state));
                    }
                    other => panic!("an append to a task that is {state}: {other:?}"),
                }
            }
        }
        script.check(&*store).await;
    }
}

pub(super) async fn what_is_refused_leaves_no_trace(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let mut finished = Script::new("finished");
    append(&*store, finished.create_finished(1)).await;
    let mut missing = Script::new("missing");
    missing.create(5);
    let refusals = [
        Script::new("t").create(5),
        Append { expected: Revision::new(9), ..script.clone().change(TaskState::Completed, 5) },
        Append { expected: finished.revision(), ..late_change("finished") },
        missing.change(TaskState::Completed, 5),
    ];
    for (number, refused) in (1..).zip(refusals) {
        let refusal = store.append(Append { sent: Some(sent(number, 1_000)), ..refused }).await;
        assert!(refusal.is_err(), "append {number} must be refused: {refusal:?}");
        let outcome = store.sent(&sent(number, 0).key, time(6)).await.expect("looks up");
        assert_eq!(outcome, None, "the message of a refused append {number} is not remembered");
    }
    script.check(&*store).await;
    finished.check(&*store).await;
    missing.check_gone(&*store).await;
    assert_eq!(store.list(&all_of("caller")).await.expect("lists").total, 2);
}

/// A change of a task by somebody who does not know how it stands.
fn late_change(id: &str) -> Append {
    let mut script = Script::new(id);
    script.create(5);
    script.change(TaskState::Working, 5)
}

pub(super) async fn of_racing_creators_one_wins(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let scripts: Vec<_> = (0..WRITERS)
        .map(|number| {
            let mut script = Script::new("t");
            let append = script.then(vec![script.creation(1), script.piece(&number.to_string())]);
            (script, append)
        })
        .collect();
    race(&store, scripts).await.check(&*store).await;
}

pub(super) async fn of_racing_writers_one_wins(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for round in 0..20 {
        let scripts: Vec<_> = (0..WRITERS)
            .map(|number| {
                let mut script = script.clone();
                let append = script.grow(&format!("{round} {number}"));
                (script, append)
            })
            .collect();
        script = race(&store, scripts).await;
    }
    script.check(&*store).await;
}

pub(super) async fn the_first_end_is_the_end(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let ends = [TaskState::Completed, TaskState::Canceled, TaskState::Failed, TaskState::Rejected];
    let scripts = ends.map(|state| {
        let mut script = script.clone();
        let append = script.change(state, 2);
        (script, append)
    });
    race(&store, scripts.into()).await.check(&*store).await;
}

/// Lets writers append at the same time, and returns the script of the one that won.
async fn race(store: &Arc<dyn TaskStore>, scripts: Vec<(Script, Append)>) -> Script {
    let mut running = JoinSet::new();
    for (script, append) in scripts {
        let store = store.clone();
        running.spawn(async move { (script, store.append(append).await) });
    }
    let mut winner = None;
    while let Some(done) = running.join_next().await {
        match done.expect("a writer ends") {
            (script, Ok(revision)) => {
                assert_eq!(revision, script.revision(), "the revision of the winner");
                assert!(winner.is_none(), "two writers won");
                winner = Some(script);
            }
            (_, Err(Error::Conflict { .. } | Error::Finished { .. })) => {}
            (_, Err(other)) => panic!("a writer who lost: {other}"),
        }
    }
    winner.expect("one writer wins")
}

pub(super) async fn a_refusal_disturbs_nobody_else(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut known = Script::new("known");
    append(&*store, known.create_finished(1)).await;
    let mut running = JoinSet::new();
    for number in 0..64 {
        let store = store.clone();
        running.spawn(async move {
            let mut script = Script::new(&format!("t{number}"));
            if number % 4 == 0 {
                let again = Script::new("known").create(2);
                assert!(store.append(again).await.is_err(), "it is there already");
            }
            append(&*store, script.create(2)).await;
            append(&*store, script.change(TaskState::Completed, 3)).await;
            script
        });
    }
    while let Some(script) = running.join_next().await {
        script.expect("a writer ends").check(&*store).await;
    }
    known.check(&*store).await;
    assert_eq!(store.list(&all_of("caller")).await.expect("lists").total, 65);
}

/// Appends what must be refused because the task is at another revision.
async fn refuse_at(store: &dyn TaskStore, append: Append, expected: Revision, found: Revision) {
    let id = append.key.id.clone();
    match store.append(append).await {
        Err(Error::Conflict { task, expected: told, found: there }) => {
            assert_eq!((task, told, there), (id, expected, found), "what the conflict tells");
        }
        other => panic!("an append at {expected} of a task at {found}: {other:?}"),
    }
}
