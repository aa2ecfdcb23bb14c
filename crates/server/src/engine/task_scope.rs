//! Access rules of operations, and the only way from a call to the key of a task.
//!
//! The key of a task contains its owner and its agent. A task of another owner is therefore not
//! found, like one that does not exist.

use std::sync::Arc;

use latimer_protocol::{Caller, Error, ErrorKind, Operation, TaskId};
use latimer_store::TaskKey;

/// Tasks that an operation may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessRule {
    /// One task of the caller.
    Own,
    /// A new task or one of the caller. Referenced tasks must belong to the caller, too.
    OwnOrNew,
    /// The list of the caller's tasks.
    OwnList,
    /// No task: a card, for every admitted caller.
    Card,
}

/// Access rule and rate limit weight of an operation.
struct OperationRule {
    operation: Operation,
    rule: AccessRule,
    /// Units of the caller's rate limit that one call uses.
    weight: u32,
}

const fn operation_rule(operation: Operation, rule: AccessRule, weight: u32) -> OperationRule {
    OperationRule { operation, rule, weight }
}

/// Operations that are not listed are denied.
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
    /// Returns the rule of an operation. The engine denies operations without one.
    #[must_use]
    pub fn for_operation(operation: Operation) -> Option<Self> {
        find_rule(operation).map(|it| it.rule)
    }
}

/// Returns how many units of the caller's rate limit an operation uses.
pub(crate) fn weight(operation: Operation) -> u32 {
    find_rule(operation).map_or(1, |it| it.weight)
}

fn find_rule(operation: Operation) -> Option<&'static OperationRule> {
    OPERATION_RULES.iter().find(|it| it.operation == operation)
}

/// The tasks a call may access, derived from the access rule of its operation. The only source of a
/// [`TaskKey`] for a caller, so no handler can address another owner's task.
#[derive(Clone, Debug)]
pub(super) struct TaskScope {
    owner: Arc<str>,
    rule: AccessRule,
}

impl TaskScope {
    /// Creates the scope that an operation has for a caller.
    ///
    /// # Errors
    /// Fails if the operation has no access rule.
    pub(super) fn for_operation(operation: Operation, caller: &Caller) -> Result<Self, Error> {
        let rule = AccessRule::for_operation(operation).ok_or_else(denied)?;
        Ok(Self { owner: caller.id().clone(), rule })
    }

    /// Creates the scope of the message that created a task, to continue it after a restart.
    pub(super) fn for_owner(key: &TaskKey) -> Self {
        Self { owner: key.owner.clone(), rule: AccessRule::OwnOrNew }
    }

    /// Returns the owner of the tasks that a single-task operation may access.
    pub(super) fn owner(&self) -> Result<&Arc<str>, Error> {
        match self.rule {
            AccessRule::Own | AccessRule::OwnOrNew => Ok(&self.owner),
            AccessRule::OwnList | AccessRule::Card => Err(denied()),
        }
    }

    /// Returns the key of a task, which may not exist.
    pub(super) fn task_key(&self, agent: &Arc<str>, id: &TaskId) -> Result<TaskKey, Error> {
        let caller = self.owner()?.clone();
        Ok(TaskKey { owner: caller, agent: agent.clone(), id: id.clone() })
    }

    /// Returns the key of a task to create.
    pub(super) fn new_task_key(&self, agent: &Arc<str>, id: TaskId) -> Result<TaskKey, Error> {
        match self.rule {
            AccessRule::OwnOrNew => {
                Ok(TaskKey { owner: self.owner.clone(), agent: agent.clone(), id })
            }
            AccessRule::Own | AccessRule::OwnList | AccessRule::Card => Err(denied()),
        }
    }

    /// Returns the owner whose tasks a list may contain.
    pub(super) fn list_owner(self) -> Result<Arc<str>, Error> {
        match self.rule {
            AccessRule::OwnList => Ok(self.owner),
            AccessRule::Own | AccessRule::OwnOrNew | AccessRule::Card => Err(denied()),
        }
    }

    /// Fails unless the operation returns a card.
    pub(super) fn check_card_access(&self) -> Result<(), Error> {
        match self.rule {
            AccessRule::Card => Ok(()),
            AccessRule::Own | AccessRule::OwnOrNew | AccessRule::OwnList => Err(denied()),
        }
    }
}

/// Returns the error of calls that no rule allows.
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
            assert!(weight(operation) > 0, "{operation:?} has a weight");
        }
    }
}
