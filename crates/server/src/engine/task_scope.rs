//! Who may touch what: one table of operations, and the one way from a call to a task.
//!
//! A task belongs to the caller and the agent that made it, and its key has both. Somebody else's is
//! therefore not refused but not found, like one that never was: there is nothing to tell apart.

use std::sync::Arc;

use latimer_protocol::{Caller, Error, ErrorKind, Operation, TaskId};
use latimer_store::TaskKey;

/// What an operation may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessRule {
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
struct OperationRule {
    operation: Operation,
    rule: AccessRule,
    /// How much of a caller's rate it takes.
    weight: u32,
}

const fn operation_rule(operation: Operation, rule: AccessRule, weight: u32) -> OperationRule {
    OperationRule { operation, rule, weight }
}

/// An operation that is not here is nobody's.
const OPERATION_RULES: &[OperationRule] = &[
    operation_rule(Operation::SendMessage, AccessRule::OwnOrNew, 5),
    operation_rule(Operation::SendStreamingMessage, AccessRule::OwnOrNew, 5),
    operation_rule(Operation::GetTask, AccessRule::Own, 1),
    operation_rule(Operation::ListTasks, AccessRule::OwnList, 3),
    operation_rule(Operation::CancelTask, AccessRule::Own, 2),
    operation_rule(Operation::SubscribeToTask, AccessRule::Own, 3),
    operation_rule(Operation::CreateTaskPushNotificationConfig, AccessRule::Own, 3),
    operation_rule(Operation::GetTaskPushNotificationConfig, AccessRule::Own, 1),
    operation_rule(Operation::ListTaskPushNotificationConfigs, AccessRule::Own, 1),
    operation_rule(Operation::DeleteTaskPushNotificationConfig, AccessRule::Own, 1),
    operation_rule(Operation::GetExtendedAgentCard, AccessRule::Card, 1),
    operation_rule(Operation::GetAgentCard, AccessRule::Card, 1),
];

impl AccessRule {
    /// The rule of an operation. One that has none is refused.
    #[must_use]
    pub fn for_operation(operation: Operation) -> Option<Self> {
        find_rule(operation).map(|it| it.rule)
    }
}

/// How much of a caller's rate an operation takes.
pub(crate) fn weight(operation: Operation) -> u32 {
    find_rule(operation).map_or(1, |it| it.weight)
}

fn find_rule(operation: Operation) -> Option<&'static OperationRule> {
    OPERATION_RULES.iter().find(|it| it.operation == operation)
}

/// What one call may touch. Whatever names a task for a caller has the name from here.
#[derive(Clone, Debug)]
pub(super) struct TaskScope {
    owner: Arc<str>,
    rule: AccessRule,
}

impl TaskScope {
    /// Creates the scope that an operation has for a caller.
    ///
    /// # Errors
    /// When the operation has no access rule.
    pub(super) fn for_operation(operation: Operation, caller: &Caller) -> Result<Self, Error> {
        let rule = AccessRule::for_operation(operation).ok_or_else(denied)?;
        Ok(Self { owner: caller.id().clone(), rule })
    }

    /// What the message that made a task might touch, for those who go on with it later.
    pub(super) fn for_owner(key: &TaskKey) -> Self {
        Self { owner: key.owner.clone(), rule: AccessRule::OwnOrNew }
    }

    /// Among whose tasks an id is looked for.
    pub(super) fn owner(&self) -> Result<&Arc<str>, Error> {
        match self.rule {
            AccessRule::Own | AccessRule::OwnOrNew => Ok(&self.owner),
            AccessRule::OwnList | AccessRule::Card => Err(denied()),
        }
    }

    /// The task of this id, which may not exist.
    pub(super) fn task_key(&self, agent: &Arc<str>, id: &TaskId) -> Result<TaskKey, Error> {
        let caller = self.owner()?.clone();
        Ok(TaskKey { owner: caller, agent: agent.clone(), id: id.clone() })
    }

    /// A task of this id, which is to be made.
    pub(super) fn new_task_key(&self, agent: &Arc<str>, id: TaskId) -> Result<TaskKey, Error> {
        match self.rule {
            AccessRule::OwnOrNew => {
                Ok(TaskKey { owner: self.owner.clone(), agent: agent.clone(), id })
            }
            AccessRule::Own | AccessRule::OwnList | AccessRule::Card => Err(denied()),
        }
    }

    /// Whose tasks are listed.
    pub(super) fn list_owner(self) -> Result<Arc<str>, Error> {
        match self.rule {
            AccessRule::OwnList => Ok(self.owner),
            AccessRule::Own | AccessRule::OwnOrNew | AccessRule::Card => Err(denied()),
        }
    }

    /// Whether a card may be shown.
    pub(super) fn check_card_access(&self) -> Result<(), Error> {
        match self.rule {
            AccessRule::Card => Ok(()),
            AccessRule::Own | AccessRule::OwnOrNew | AccessRule::OwnList => Err(denied()),
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
            let rows = OPERATION_RULES.iter().filter(|it| it.operation == operation).count();
            assert_eq!(rows, 1, "{operation:?} needs one row in the table of rules");
            assert!(weight(operation) > 0, "{operation:?} costs something");
        }
    }
}
