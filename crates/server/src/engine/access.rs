//! Who may touch what: one table of operations, and the one way from a call to a task.
//!
//! A task belongs to the caller and the agent that made it, and its key has both. Somebody else's is
//! therefore not refused but not found, like one that never was: there is nothing to tell apart.

use std::sync::Arc;

use latimer_protocol::{Call, Error, ErrorKind, Operation, TaskId};
use latimer_store::TaskKey;

/// What an operation may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// One task of the caller's own.
    Own,
    /// A new task, or one of the caller's own; those that a message refers to are the caller's own,
    /// too.
    OwnOrNew,
    /// The list of the caller's own tasks.
    OwnList,
    /// No task: a card, for everybody who was let in.
    Card,
}

/// The rule of an operation, and what it costs.
struct Row {
    operation: Operation,
    rule: Rule,
    /// How much of a caller's rate it takes.
    weight: u32,
}

const fn row(operation: Operation, rule: Rule, weight: u32) -> Row {
    Row { operation, rule, weight }
}

/// An operation that is not here is nobody's.
const TABLE: &[Row] = &[
    row(Operation::SendMessage, Rule::OwnOrNew, 5),
    row(Operation::SendStreamingMessage, Rule::OwnOrNew, 5),
    row(Operation::GetTask, Rule::Own, 1),
    row(Operation::ListTasks, Rule::OwnList, 3),
    row(Operation::CancelTask, Rule::Own, 2),
    row(Operation::SubscribeToTask, Rule::Own, 3),
    row(Operation::CreateTaskPushNotificationConfig, Rule::Own, 3),
    row(Operation::GetTaskPushNotificationConfig, Rule::Own, 1),
    row(Operation::ListTaskPushNotificationConfigs, Rule::Own, 1),
    row(Operation::DeleteTaskPushNotificationConfig, Rule::Own, 1),
    row(Operation::GetExtendedAgentCard, Rule::Card, 1),
    row(Operation::GetAgentCard, Rule::Card, 1),
];

impl Rule {
    /// The rule of an operation. One that has none is refused.
    #[must_use]
    pub fn of(operation: Operation) -> Option<Self> {
        find(operation).map(|it| it.rule)
    }
}

/// How much of a caller's rate an operation takes.
pub(crate) fn weight(operation: Operation) -> u32 {
    find(operation).map_or(1, |it| it.weight)
}

fn find(operation: Operation) -> Option<&'static Row> {
    TABLE.iter().find(|it| it.operation == operation)
}

/// What one call may touch. Whatever names a task for a caller has the name from here.
#[derive(Clone, Debug)]
pub(super) struct Access {
    owner: Arc<str>,
    rule: Rule,
}

impl Access {
    /// What a call may touch, by the rule of its operation.
    ///
    /// # Errors
    /// When the operation has no rule.
    pub(super) fn of(call: &Call) -> Result<Self, Error> {
        let rule = Rule::of(call.request.operation()).ok_or_else(denied)?;
        Ok(Self { owner: call.caller.id().clone(), rule })
    }

    /// What the message that made a task might touch, for those who go on with it later.
    pub(super) fn again(key: &TaskKey) -> Self {
        Self { owner: key.owner.clone(), rule: Rule::OwnOrNew }
    }

    /// Among whose tasks an id is looked for.
    pub(super) fn owner(&self) -> Result<&Arc<str>, Error> {
        match self.rule {
            Rule::Own | Rule::OwnOrNew => Ok(&self.owner),
            Rule::OwnList | Rule::Card => Err(denied()),
        }
    }

    /// The task of this id, which may not exist.
    pub(super) fn task(&self, agent: &Arc<str>, id: &TaskId) -> Result<TaskKey, Error> {
        let caller = self.owner()?.clone();
        Ok(TaskKey { owner: caller, agent: agent.clone(), id: id.clone() })
    }

    /// A task of this id, which is to be made.
    pub(super) fn new_task(&self, agent: &Arc<str>, id: TaskId) -> Result<TaskKey, Error> {
        match self.rule {
            Rule::OwnOrNew => Ok(TaskKey { owner: self.owner.clone(), agent: agent.clone(), id }),
            Rule::Own | Rule::OwnList | Rule::Card => Err(denied()),
        }
    }

    /// Whose tasks are listed.
    pub(super) fn list(self) -> Result<Arc<str>, Error> {
        match self.rule {
            Rule::OwnList => Ok(self.owner),
            Rule::Own | Rule::OwnOrNew | Rule::Card => Err(denied()),
        }
    }

    /// Whether a card may be shown.
    pub(super) fn card(&self) -> Result<(), Error> {
        match self.rule {
            Rule::Card => Ok(()),
            Rule::Own | Rule::OwnOrNew | Rule::OwnList => Err(denied()),
        }
    }
}

/// The answer to what no rule allows.
fn denied() -> Error {
    ErrorKind::PermissionDenied.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_one_rule() {
        for operation in Operation::ALL {
            let rows = TABLE.iter().filter(|it| it.operation == operation).count();
            assert_eq!(rows, 1, "{operation:?} needs one row in the table of rules");
            assert!(weight(operation) > 0, "{operation:?} costs something");
        }
    }
}
