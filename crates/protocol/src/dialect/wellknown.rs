//! Conversions of the well-known protobuf types `Struct`, `Value` and `Timestamp`.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value as ProtoValue};
use serde_json::{Map, Number, Value};

use crate::json::{InvalidField, MAX_NESTING_DEPTH};
use crate::model::{Metadata, Timestamp};

/// Largest integer up to which all integers are exact doubles, 2^53.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Converts metadata; returns `None` for empty metadata.
pub(super) fn to_struct(members: &Metadata) -> Option<Struct> {
    (!members.is_empty()).then(|| to_full_struct(members))
}

/// Converts an object; an empty object becomes an empty message.
pub(super) fn to_full_struct(members: &Map<String, Value>) -> Struct {
    let fields = members.iter().map(|(name, value)| (name.clone(), to_value(value)));
    Struct { fields: fields.collect() }
}

/// Converts a JSON value. Integers beyond 2^53 lose precision, because numbers are doubles.
pub(super) fn to_value(value: &Value) -> ProtoValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => {
            Kind::ListValue(ListValue { values: items.iter().map(to_value).collect() })
        }
        Value::Object(members) => Kind::StructValue(to_full_struct(members)),
    };
    ProtoValue { kind: Some(kind) }
}

/// Converts an optional message to metadata.
pub(super) fn from_struct(members: Option<Struct>, field: &str) -> Result<Metadata, InvalidField> {
    let members = members.unwrap_or_default();
    convert_struct(members, 1).map(Metadata::from).map_err(|error| error.within(field))
}

/// Converts a message to a JSON value.
pub(super) fn from_value(value: ProtoValue, field: &str) -> Result<Value, InvalidField> {
    convert_value(value, 1).map_err(|error| error.within(field))
}

fn convert_struct(members: Struct, depth: usize) -> Result<Map<String, Value>, InvalidField> {
    if depth > MAX_NESTING_DEPTH {
        return Err(InvalidField::too_deep());
    }
    let members = members.fields.into_iter();
    members
        .map(|(name, value)| match convert_value(value, depth + 1) {
            Ok(value) => Ok((name, value)),
            Err(error) => Err(error.within(&name)),
        })
        .collect()
}

fn convert_value(value: ProtoValue, depth: usize) -> Result<Value, InvalidField> {
    if depth > MAX_NESTING_DEPTH {
        return Err(InvalidField::too_deep());
    }
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::NumberValue(number)) => Value::Number(to_number(number)?),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => {
            let items = list.values.into_iter().map(|item| convert_value(item, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Some(Kind::StructValue(members)) => Value::Object(convert_struct(members, depth + 1)?),
    })
}

/// Converts a double to a JSON number, to an integer if it is integral.
fn to_number(number: f64) -> Result<Number, InvalidField> {
    if number.fract() == 0.0
        && number.abs() <= MAX_EXACT_INTEGER
        && !(number == 0.0 && number.is_sign_negative())
    {
        #[expect(clippy::cast_possible_truncation, reason = "integral, and at most 2^53")]
        return Ok(Number::from(number as i64));
    }
    Number::from_f64(number).ok_or_else(|| InvalidField::new("", "must be a finite number"))
}

/// Converts a timestamp to protobuf.
pub(super) fn to_timestamp(time: Timestamp) -> prost_types::Timestamp {
    let milliseconds = time.as_millis();
    // Less than 1000, so it fits.
    let remainder = i32::try_from(milliseconds.rem_euclid(1000)).unwrap_or_default();
    prost_types::Timestamp { seconds: milliseconds.div_euclid(1000), nanos: remainder * 1_000_000 }
}

/// Converts a timestamp from protobuf, truncated to milliseconds.
pub(super) fn from_timestamp(
    time: prost_types::Timestamp,
    field: &str,
) -> Result<Timestamp, InvalidField> {
    let invalid = || InvalidField::new(field, crate::model::InvalidTimestamp.to_string());
    if !(0..1_000_000_000).contains(&time.nanos) {
        return Err(invalid());
    }
    let milliseconds = time.seconds.checked_mul(1000);
    let milliseconds =
        milliseconds.and_then(|it| it.checked_add(i64::from(time.nanos / 1_000_000)));
    milliseconds.and_then(|it| Timestamp::from_millis(it).ok()).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arbitrary_json_round_trips() {
        let value = json!({"a": [1, 1.5, -3, true, null, "x", {"b": {}}], "c": [], "big": 9007199254740992u64});
        assert_eq!(from_value(to_value(&value), "").unwrap(), value);
    }

    #[test]
    fn non_finite_and_too_deep_values_are_rejected() {
        for number in [f64::NAN, f64::INFINITY] {
            let proto = ProtoValue { kind: Some(Kind::NumberValue(number)) };
            assert!(from_value(proto, "data").is_err());
        }
        let mut deep = to_value(&json!(1));
        for _ in 0..200 {
            deep = ProtoValue { kind: Some(Kind::ListValue(ListValue { values: vec![deep] })) };
        }
        let error = from_value(deep, "data").unwrap_err();
        assert_eq!(error.field, "data");
    }

    #[test]
    fn timestamps_before_and_after_1970_round_trip() {
        for milliseconds in [0, 1, 999, 1000, -1, -1000, -1001, 1_767_225_600_123] {
            let time = Timestamp::from_millis(milliseconds).unwrap();
            assert_eq!(from_timestamp(to_timestamp(time), "t").unwrap(), time);
        }
        let bad = prost_types::Timestamp { seconds: i64::MAX, nanos: 0 };
        assert!(from_timestamp(bad, "t").is_err());
    }
}
