//! JSON as written by Python's `json.dumps(…, separators=(",", ":"), sort_keys=True)`.
//!
//! Python SDKs before 1.3 signed this form: members sorted by code point, ASCII only, and floats
//! formatted by `repr`.

use std::fmt::Write;

use serde_json::{Number, Value};

pub(super) fn dumps(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write_value(value, &mut out);
    out.into_bytes()
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&format_number(number)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // UTF-8 byte order equals code point order.
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_string(name, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Formats integers as they are and floats like Python's `repr`: the shortest digits that
/// round-trip, with an exponent from 1e16 upwards and below 1e-4.
fn format_number(number: &Number) -> String {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value == 0.0 || (-4..16).contains(&exponent) {
        let plain = value.to_string();
        let suffix = if plain.contains('.') { "" } else { ".0" };
        return plain + suffix;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_written_like_python_json_dumps() {
        for (value, want) in [
            (json!({"b": [1, 2.5, null], "a": {}}), r#"{"a":{},"b":[1,2.5,null]}"#),
            (json!("Größe ✓ 😀\u{7f}"), r#""Gr\u00f6\u00dfe \u2713 \ud83d\ude00\u007f""#),
            (json!("\"\\/\n\t\u{8}\u{c}\r\u{1}"), r#""\"\\/\n\t\b\f\r\u0001""#),
            // Sorted by code point, not by UTF-16 code unit as in RFC 8785.
            (json!({"\u{1f600}": 1, "\u{fb33}": 2}), r#"{"\ufb33":2,"\ud83d\ude00":1}"#),
            (
                json!([3.0, -0.0, 0.1, 1e15, 1e16, 1e22, 1.5e-5, 0.0001]),
                "[3.0,-0.0,0.1,1000000000000000.0,1e+16,1e+22,1.5e-05,0.0001]",
            ),
            (
                json!([1.7976931348623157e308, 5e-324, 123456789.125]),
                "[1.7976931348623157e+308,5e-324,123456789.125]",
            ),
        ] {
            assert_eq!(String::from_utf8(dumps(&value)).unwrap(), want);
        }
    }
}
