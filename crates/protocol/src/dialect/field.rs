//! Fields of protobuf messages: what an empty one means, and how a wrong one is named.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use crate::json::Invalid;
use crate::model::{InvalidId, TaskState};

/// A required identifier.
pub(super) fn id<T: FromStr<Err = InvalidId>>(text: &str, field: &str) -> Result<T, Invalid> {
    if text.is_empty() {
        return Err(Invalid::missing(field));
    }
    text.parse().map_err(|error: InvalidId| Invalid::new(field, error.to_string()))
}

/// An identifier that is absent when empty.
pub(super) fn optional_id<T: FromStr<Err = InvalidId>>(
    text: &str,
    field: &str,
) -> Result<Option<T>, Invalid> {
    if text.is_empty() { Ok(None) } else { id(text, field).map(Some) }
}

/// A required text.
pub(super) fn filled(text: String, field: &str) -> Result<String, Invalid> {
    optional(text).ok_or_else(|| Invalid::missing(field))
}

pub(super) fn optional(text: String) -> Option<String> {
    Some(text).filter(|it| !it.is_empty())
}

pub(super) fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

pub(super) fn required<T>(value: Option<T>, field: &str) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::missing(field))
}

pub(super) fn state(number: i32, field: &str) -> Result<TaskState, Invalid> {
    TaskState::from_number(number.into())
        .ok_or_else(|| Invalid::new(field, "is not the number of a task state"))
}

pub(super) fn count(number: Option<i32>, field: &str) -> Result<Option<u32>, Invalid> {
    let count = number.map(u32::try_from).transpose();
    count.map_err(|_| Invalid::new(field, "must not be negative"))
}

/// A count as int32; more than fits is as good as the largest that does.
pub(super) fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Converts each of a list; an error names its place.
pub(super) fn each<T, U>(items: Vec<T>, field: &str) -> Result<Vec<U>, Invalid>
where
    U: TryFrom<T, Error = Invalid>,
{
    let numbered = items.into_iter().enumerate();
    let converted = numbered.map(|(place, item)| {
        U::try_from(item).map_err(|error| error.within(&format!("{field}[{place}]")))
    });
    converted.collect()
}

/// Converts each of a list whose items are shared; an error names its place.
pub(super) fn each_shared<T, U>(items: Vec<T>, field: &str) -> Result<Vec<Arc<U>>, Invalid>
where
    U: TryFrom<T, Error = Invalid>,
{
    Ok(each(items, field)?.into_iter().map(Arc::new).collect())
}

/// Converts each of a list, and leaves out what is malformed.
pub(super) fn fitting<T, U: TryFrom<T>>(items: Vec<T>) -> Vec<U> {
    items.into_iter().filter_map(|item| item.try_into().ok()).collect()
}

/// Converts each value, and leaves out what is malformed.
pub(super) fn fitting_values<T, U: TryFrom<T>>(items: BTreeMap<String, T>) -> BTreeMap<String, U> {
    items.into_iter().filter_map(|(name, item)| Some((name, item.try_into().ok()?))).collect()
}

/// The same result, its error seen from one level further out.
pub(super) fn named<T>(result: Result<T, Invalid>, field: &str) -> Result<T, Invalid> {
    result.map_err(|error| error.within(field))
}
