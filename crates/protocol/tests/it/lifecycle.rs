//! Folding a log: at once, step by step, or from a snapshot in the middle.

use std::sync::Arc;

use latimer_protocol::{
    ContextId, Event, Task, TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatusUpdateEvent,
};
use proptest::collection::vec;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use crate::arbitrary::{artifact, message, status};

/// A legal log: a creation, then anything that happens to that task, the end at most at the end.
fn log() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        message().prop_map(|it| Event::Message(it.into())),
        status().prop_map(|it| Event::Status(TaskStatusUpdateEvent::new(id(), it))),
        (artifact(), 0..3usize, any::<bool>()).prop_map(|(artifact, name, append)| {
            // Few names, so that pieces meet.
            let artifact_id = format!("a{name}").parse().expect("an id");
            let artifact = latimer_protocol::Artifact { artifact_id, ..artifact };
            let update = TaskArtifactUpdateEvent::new(id(), artifact);
            Event::Artifact(TaskArtifactUpdateEvent { append, ..update })
        }),
    ];
    vec(event, 0..12).prop_map(|events| {
        let created = Event::Created(Task::new(id(), context(), TaskState::Submitted));
        let mut log: Vec<_> =
            std::iter::once(created).chain(events.into_iter().map(ours)).collect();
        let end = log.iter().position(is_end).unwrap_or(log.len() - 1);
        log.truncate(end + 1);
        log
    })
}

fn id() -> TaskId {
    TaskId::new("t").expect("an id")
}

fn context() -> ContextId {
    ContextId::new("c").expect("an id")
}

/// The same event, about our task.
fn ours(event: Event) -> Event {
    match event {
        Event::Message(mut message) => {
            let ours = Arc::make_mut(&mut message);
            (ours.task_id, ours.context_id) = (Some(id()), Some(context()));
            Event::Message(message)
        }
        Event::Created(_) | Event::Status(_) | Event::Artifact(_) => event,
    }
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Status(update) if update.status.state.is_terminal())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_replay_equals_the_fold_step_by_step_and_from_any_snapshot(log in log(), cut in any::<usize>()) {
        let whole = Task::replay(log.clone()).unwrap().unwrap();

        let mut steps = log.clone().into_iter();
        let Some(Event::Created(mut task)) = steps.next() else { panic!("created first") };
        for event in steps {
            task.apply(event).unwrap();
        }
        prop_assert_eq!(&task, &whole);

        // Stored and read back in the middle, as a reader does that catches up.
        let cut = 1 + cut % log.len();
        let snapshot = Task::replay(log[..cut].to_vec()).unwrap().unwrap();
        let stored = serde_json::to_vec(&snapshot).unwrap();
        let mut snapshot: Task = serde_json::from_slice(&stored).unwrap();
        for event in &log[cut..] {
            let stored = serde_json::to_vec(event).unwrap();
            snapshot.apply(serde_json::from_slice(&stored).unwrap()).unwrap();
        }
        prop_assert_eq!(&snapshot, &whole);
    }

    #[test]
    fn nothing_changes_a_finished_task(log in log(), late in log()) {
        let mut task = Task::replay(log).unwrap().unwrap();
        if !task.status.state.is_terminal() {
            return Ok(());
        }
        let before = task.clone();
        for event in late {
            prop_assert!(task.apply(event).is_err());
            prop_assert_eq!(&task, &before);
        }
    }
}
