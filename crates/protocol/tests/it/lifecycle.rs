//! Replay of logs: complete, stepwise, and resumed from a snapshot.

use std::sync::Arc;

use latimer_protocol::{
    ContextId, Event, Task, TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatusUpdateEvent,
};
use proptest::collection::vec;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use crate::arbitrary::{artifact, message, status};

/// Generates valid logs: a creation, followed by events of the task, with a terminal state at most
/// at the end.
fn log() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        message().prop_map(|it| Event::Message(it.into())),
        status().prop_map(|it| Event::Status(TaskStatusUpdateEvent::new(id(), it))),
        (artifact(), 0..3usize, any::<bool>()).prop_map(|(artifact, name, append)| {
            // Few ids, so that chunks refer to the same artifacts.
            let artifact_id = format!("a{name}").parse().expect("valid id");
            let artifact = latimer_protocol::Artifact { artifact_id, ..artifact };
            let update = TaskArtifactUpdateEvent::new(id(), artifact);
            Event::Artifact(TaskArtifactUpdateEvent { append, ..update })
        }),
    ];
    vec(event, 0..12).prop_map(|events| {
        let created = Event::Created(Task::new(id(), context(), TaskState::Submitted));
        let mut log: Vec<_> =
            std::iter::once(created).chain(events.into_iter().map(for_task)).collect();
        let last = log.iter().position(is_terminal_event).unwrap_or(log.len() - 1);
        log.truncate(last + 1);
        log
    })
}

fn id() -> TaskId {
    TaskId::new("t").expect("valid id")
}

fn context() -> ContextId {
    ContextId::new("c").expect("valid id")
}

/// Assigns the event to the test task.
fn for_task(event: Event) -> Event {
    match event {
        Event::Message(mut message) => {
            let message_mut = Arc::make_mut(&mut message);
            (message_mut.task_id, message_mut.context_id) = (Some(id()), Some(context()));
            Event::Message(message)
        }
        Event::Created(_) | Event::Status(_) | Event::Artifact(_) => event,
    }
}

fn is_terminal_event(event: &Event) -> bool {
    matches!(event, Event::Status(update) if update.status.state.is_terminal())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn replay_equals_stepwise_fold_and_snapshot_resume(log in log(), cut in any::<usize>()) {
        let replayed = Task::replay(log.clone()).unwrap().unwrap();

        let mut steps = log.clone().into_iter();
        let Some(Event::Created(mut task)) = steps.next() else { panic!("expected a creation") };
        for event in steps {
            task.apply(event).unwrap();
        }
        prop_assert_eq!(&task, &replayed);

        // Serializes a snapshot in the middle, like a reader that resumes.
        let cut = 1 + cut % log.len();
        let snapshot = Task::replay(log[..cut].to_vec()).unwrap().unwrap();
        let stored = serde_json::to_vec(&snapshot).unwrap();
        let mut snapshot: Task = serde_json::from_slice(&stored).unwrap();
        for event in &log[cut..] {
            let stored = serde_json::to_vec(event).unwrap();
            snapshot.apply(serde_json::from_slice(&stored).unwrap()).unwrap();
        }
        prop_assert_eq!(&snapshot, &replayed);
    }

    #[test]
    fn finished_task_rejects_every_event(log in log(), late in log()) {
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
