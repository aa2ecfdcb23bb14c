//! What is kept with a task of ours about the task it is elsewhere.

use latimer_protocol::{ContextId, TaskId};
use serde::{Deserialize, Serialize};

/// Which task and conversation it is for the agent behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UpstreamIds {
    /// The task, as soon as there is one.
    pub(super) task: Option<TaskId>,
    /// The conversation.
    pub(super) context: Option<ContextId>,
}

impl UpstreamIds {
    /// Reads a note. One that makes no sense is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_json(&self) -> String {
        // It is two texts.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_ids_round_trip_as_json() {
        let (task, context) = (TaskId::new("t").ok(), ContextId::new("c").ok());
        for ids in [
            UpstreamIds::default(),
            UpstreamIds { task: task.clone(), context: None },
            UpstreamIds { task, context },
        ] {
            assert_eq!(UpstreamIds::parse(&ids.to_json()), Some(ids));
        }
        assert_eq!(UpstreamIds::parse("no note"), None);
    }
}
