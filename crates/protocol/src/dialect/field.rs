//! Conversion of protobuf fields: handling of empty values, and errors with field paths.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use crate::json::InvalidField;
use crate::model::{InvalidId, TaskState};

/// Parses a required id.
pub(super) fn required_id<T: FromStr<Err = InvalidId>>(
    text: &str,
    field: &str,
) -> Result<T, InvalidField> {
    if text.is_empty() {
        return Err(InvalidField::missing(field));
    }
    text.parse().map_err(|error: InvalidId| InvalidField::new(field, error.to_string()))
}

/// Parses an id that is absent if empty.
pub(super) fn optional_id<T: FromStr<Err = InvalidId>>(
    text: &str,
    field: &str,
) -> Result<Option<T>, InvalidField> {
    if text.is_empty() { Ok(None) } else { required_id(text, field).map(Some) }
}

/// Rejects an empty string.
pub(super) fn required_text(text: String, field: &str) -> Result<String, InvalidField> {
    optional_text(text).ok_or_else(|| InvalidField::missing(field))
}

pub(super) fn optional_text(text: String) -> Option<String> {
    Some(text).filter(|it| !it.is_empty())
}

pub(super) fn text_or_empty(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

pub(super) fn required<T>(value: Option<T>, field: &str) -> Result<T, InvalidField> {
    value.ok_or_else(|| InvalidField::missing(field))
}

pub(super) fn parse_state(number: i32, field: &str) -> Result<TaskState, InvalidField> {
    TaskState::from_number(number.into())
        .ok_or_else(|| InvalidField::new(field, "is not the number of a task state"))
}

pub(super) fn optional_count(
    number: Option<i32>,
    field: &str,
) -> Result<Option<u32>, InvalidField> {
    let count = number.map(u32::try_from).transpose();
    count.map_err(|_| InvalidField::new(field, "must not be negative"))
}

/// Converts a count to int32, saturating at the maximum.
pub(super) fn saturating_i32(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Converts the items of a list; an error contains the index.
pub(super) fn convert_all<T, U>(items: Vec<T>, field: &str) -> Result<Vec<U>, InvalidField>
where
    U: TryFrom<T, Error = InvalidField>,
{
    let numbered = items.into_iter().enumerate();
    let converted = numbered.map(|(index, item)| {
        U::try_from(item).map_err(|error| error.within(&format!("{field}[{index}]")))
    });
    converted.collect()
}

/// Converts the items of a list and wraps each in an `Arc`; an error contains the index.
pub(super) fn convert_all_shared<T, U>(
    items: Vec<T>,
    field: &str,
) -> Result<Vec<Arc<U>>, InvalidField>
where
    U: TryFrom<T, Error = InvalidField>,
{
    Ok(convert_all(items, field)?.into_iter().map(Arc::new).collect())
}

/// Converts the items of a list and drops malformed ones.
pub(super) fn convert_valid<T, U: TryFrom<T>>(items: Vec<T>) -> Vec<U> {
    items.into_iter().filter_map(|item| item.try_into().ok()).collect()
}

/// Converts the values of a map and drops malformed ones.
pub(super) fn convert_valid_values<T, U: TryFrom<T>>(
    items: BTreeMap<String, T>,
) -> BTreeMap<String, U> {
    items.into_iter().filter_map(|(name, item)| Some((name, item.try_into().ok()?))).collect()
}

/// Prepends `field` to the path of an error.
pub(super) fn in_field<T>(result: Result<T, InvalidField>, field: &str) -> Result<T, InvalidField> {
    result.map_err(|error| error.within(field))
}
