//! Tests of behavior that is specific to the memory store.

use latimer_protocol::{ContextId, Dialect, TaskState, TaskStatusUpdateEvent};

use super::*;
use crate::PendingWork;

fn status(id: &str, state: TaskState) -> Event {
    Event::Status(TaskStatusUpdateEvent::new(TaskId::new(id).unwrap(), state))
}

/// Creates an append without a snapshot, so that the store applies the events itself.
fn append(expected: u64, events: Vec<Event>) -> Append {
    let key = TaskKey { owner: "".into(), agent: "a".into(), id: TaskId::new("t").unwrap() };
    let header = TaskHeader {
        context: ContextId::new("c").unwrap(),
        state: TaskState::Working,
        status_changed_at: Timestamp::EPOCH,
        created_in: Dialect::V1_0,
        pending_work: PendingWork::Running,
        note: None,
    };
    let expected = Revision::new(expected);
    Append { key, expected, events, header, snapshot: None, idempotency: None, webhook: None }
}

#[tokio::test]
async fn append_with_invalid_event_changes_nothing() {
    let store = MemoryStore::default();
    let key = append(0, Vec::new()).key;
    let (id, context) = (key.id.clone(), ContextId::new("c").unwrap());
    let created = Event::Created(Task::new(id, context, TaskState::Submitted));
    store.append(append(0, vec![created, status("t", TaskState::Working)])).await.unwrap();
    let before = store.load(&key).await.unwrap();
    let events = vec![status("t", TaskState::AuthRequired), status("another", TaskState::Working)];
    assert!(store.append(append(2, events)).await.is_err());
    assert_eq!(store.load(&key).await.unwrap(), before);
    assert_eq!(store.events(&key, Revision::START, 9).await.unwrap().len(), 2);
}
