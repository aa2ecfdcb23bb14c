//! What is kept with a task of ours about the task it is elsewhere.

use latimer_protocol::{ContextId, TaskId};
use serde::{Deserialize, Serialize};

/// Which task and conversation it is for the agent behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The task, as soon as there is one.
    pub(super) task: Option<TaskId>,
    /// The conversation.
    pub(super) context: Option<ContextId>,
}

impl Note {
    /// Reads a note. One that makes no sense is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn write(&self) -> String {
        // It is two texts.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let (task, context) = (TaskId::new("t").ok(), ContextId::new("c").ok());
        for note in
            [Note::default(), Note { task: task.clone(), context: None }, Note { task, context }]
        {
            assert_eq!(Note::read(&note.write()), Some(note));
        }
        assert_eq!(Note::read("no note"), None);
    }
}
