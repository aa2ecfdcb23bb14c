//! Resource names of 0.3's protobuf file: `tasks/{id}` and
//! `tasks/{id}/pushNotificationConfigs/{id}`.

use crate::json::InvalidField;
use crate::model::{InvalidId, PushConfigId, TaskId};

/// Formats the resource name of a task.
pub(in crate::dialect) fn format_task(task: &TaskId) -> String {
    format!("tasks/{task}")
}

/// Formats the resource name of a webhook. Without an id, the server assigns one.
pub(in crate::dialect) fn format_push_config(
    task: &TaskId,
    config: Option<&PushConfigId>,
) -> String {
    let config = config.map_or("", PushConfigId::as_str);
    format!("tasks/{task}/pushNotificationConfigs/{config}")
}

/// Parses the resource name of a task; accepts a bare id as well.
pub(in crate::dialect) fn parse_task(name: &str) -> Result<TaskId, InvalidField> {
    let id = name.strip_prefix("tasks/").unwrap_or(name);
    if id.contains('/') {
        return Err(InvalidField::new("", "must be of the form tasks/{id}"));
    }
    TaskId::new(id).map_err(|error| InvalidField::new("", error.to_string()))
}

/// Parses the resource name of a webhook; a missing webhook id is `None`.
pub(in crate::dialect) fn parse_push_config(
    name: &str,
) -> Result<(TaskId, Option<PushConfigId>), InvalidField> {
    // The remainder is the id of the webhook, even if it contains slashes.
    let segments: Vec<_> = name.splitn(4, '/').collect();
    let (id, config) = match segments.as_slice() {
        ["tasks", task, "pushNotificationConfigs", config] => (*task, *config),
        ["tasks", task] | ["tasks", task, "pushNotificationConfigs"] => (*task, ""),
        _ => {
            let problem = "must be of the form tasks/{id}/pushNotificationConfigs/{id}";
            return Err(InvalidField::new("", problem));
        }
    };
    let config = (!config.is_empty()).then(|| PushConfigId::new(config)).transpose();
    let config = config.map_err(|error| InvalidField::new("", error.to_string()))?;
    Ok((parse_task(id)?, config))
}

/// Parses the id of a webhook to be created. SDKs write `None` or `undefined` for a missing id.
pub(in crate::dialect) fn parse_new_config_id(id: &str) -> Result<Option<PushConfigId>, InvalidId> {
    match id {
        "" | "None" | "undefined" => Ok(None),
        id => PushConfigId::new(id).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_names_round_trip() {
        let (id, config) = (TaskId::new("a:b c").unwrap(), PushConfigId::new("p/q").unwrap());
        assert_eq!(parse_task(&format_task(&id)).unwrap(), id);
        let name = format_push_config(&id, Some(&config));
        assert_eq!(parse_push_config(&name).unwrap(), (id.clone(), Some(config)));
        assert_eq!(parse_push_config(&format_push_config(&id, None)).unwrap(), (id, None));
    }

    #[test]
    fn invalid_resource_names_are_rejected() {
        for name in ["", "tasks/", "tasks/a/b", "other/a"] {
            assert!(parse_task(name).is_err(), "{name}");
        }
        for name in ["", "a", "tasks//pushNotificationConfigs/c", "tasks/a/x/c", "tasks/a/b/c/d"] {
            assert!(parse_push_config(name).is_err(), "{name}");
        }
    }
}
