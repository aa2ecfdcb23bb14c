//! JSON decoding that is fast for valid input and reports the exact field for invalid input.
//!
//! Valid input is decoded in one pass of `serde_json`. Only after a failure is it decoded again
//! with path tracking, to find the invalid field.
//!
//! | module | content |
//! | --- | --- |
//! | `safe_integer` | range of exact integers |
//! | `strict_objects` | rejection of arrays for structs |

mod safe_integer;
mod strict_objects;

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Unexpected, Visitor,
};
use serde_json::Value;
use serde_path_to_error::Track;

pub(crate) use self::safe_integer::is_unsafe_integer;
pub(crate) use self::strict_objects::StrictObjects;

/// Maximum nesting depth of arrays and objects.
pub const MAX_NESTING_DEPTH: usize = 127;

/// Maximum length of a field path in an error, in bytes.
const MAX_PATH_BYTES: usize = 160;

/// Reason why JSON could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The input is not JSON.
    #[error("malformed JSON: {0}")]
    Malformed(String),
    /// The input is JSON, but a field is missing or invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
}

/// A missing or invalid field.
///
/// ```
/// use latimer_protocol::InvalidField;
///
/// let error = InvalidField::missing("url").within("configuration");
/// assert_eq!(error.to_string(), "configuration.url: is required");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// Path of the field, in the spelling of the sender: `message.parts[0].url`. Empty for the
    /// root.
    pub field: String,
    /// Problem with the field, as a predicate: `is required`.
    pub problem: String,
}

impl InvalidField {
    /// Creates an error for `field`.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// Creates an error for a required `field` that is missing.
    pub fn missing(field: impl Into<String>) -> Self {
        Self::new(field, "is required")
    }

    /// Creates an error for input that exceeds [`MAX_NESTING_DEPTH`].
    pub(crate) fn too_deep() -> Self {
        Self::new("", format!("is nested more than {MAX_NESTING_DEPTH} levels deep"))
    }

    /// Prepends `parent` to the path of the field.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        self.field = join_path(parent, &self.field);
        self
    }
}

impl fmt::Display for InvalidField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => out.write_str(&self.problem),
            field => write!(out, "{field}: {}", self.problem),
        }
    }
}

impl std::error::Error for InvalidField {}

impl de::Error for InvalidField {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new("", problem.to_string())
    }

    // Omits the value, which may be long or secret.
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new("", format!("expected {expected}, found {}", json_type_name(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new("", format!("expected {expected}, found another {}", json_type_name(unexpected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(field, "occurs twice")
    }
}

/// Decodes a value from JSON.
///
/// # Errors
/// Returns [`ParseError::Malformed`] if the text is not JSON. Returns [`ParseError::Invalid`] with
/// the field if the value has another shape, or a retained part of it exceeds
/// [`MAX_NESTING_DEPTH`].
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    seed_from_str(text, PhantomData::<T>)
}

/// Decodes a value from JSON with a seed; see [`from_str`].
pub(crate) fn seed_from_str<T, S>(text: &str, seed: S) -> Result<T, ParseError>
where
    S: Copy + for<'de> DeserializeSeed<'de, Value = T>,
{
    let mut reader = serde_json::Deserializer::from_str(text);
    let result = StrictObjects(seed).deserialize(&mut reader);
    result.and_then(|value| reader.end().map(|()| value)).map_err(|_| explain(text, seed))
}

/// Decodes a value from parsed JSON.
///
/// # Errors
/// Returns the first invalid field.
pub(crate) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, InvalidField> {
    seed_from_value(value, PhantomData::<T>)
}

/// Decodes a value from parsed JSON with a seed; see [`from_value`].
pub(crate) fn seed_from_value<T, S>(value: &Value, seed: S) -> Result<T, InvalidField>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let mut track = Track::new();
    let reader = serde_path_to_error::Deserializer::new(ValueDeserializer(value), &mut track);
    let result = StrictObjects(seed).deserialize(reader);
    result.map_err(|error| error.within(&format_path(&track.path())))
}

/// Converts bytes to a string.
///
/// # Errors
/// Returns [`ParseError::Malformed`] if the bytes are not UTF-8.
pub(crate) fn utf8_str(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes)
        .map_err(|_| ParseError::Malformed("the text is not UTF-8".to_owned()))
}

/// Appends the JSON of `value` to `out`.
#[expect(
    clippy::expect_used,
    reason = "encoded types have string keys and infallible implementations"
)]
pub(crate) fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("encoding to JSON is infallible");
}

/// Finds the reason why `text` could not be decoded: a syntax error or an invalid field.
#[cold]
fn explain<T, S>(text: &str, seed: S) -> ParseError
where
    S: Copy + for<'de> DeserializeSeed<'de, Value = T>,
{
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            // `Value` keeps one member per name, so only the text itself can reveal a duplicate.
            let duplicate_member =
                || InvalidField::new(error_path(text, seed), "has a duplicate member");
            seed_from_value(&value, seed).err().unwrap_or_else(duplicate_member).into()
        }
        Err(_) if nesting_depth(text.as_bytes()) > MAX_NESTING_DEPTH => {
            InvalidField::too_deep().within(&error_path(text, seed)).into()
        }
        Err(error) => malformed(&error),
    }
}

/// Returns the path at which decoding fails.
fn error_path<T, S>(text: &str, seed: S) -> String
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let mut track = Track::new();
    let reader = &mut serde_json::Deserializer::from_str(text);
    let reader = serde_path_to_error::Deserializer::new(reader, &mut track);
    match StrictObjects(seed).deserialize(reader) {
        Ok(_) => String::new(),
        Err(_) => format_path(&track.path()),
    }
}

/// Describes a syntax error with its position.
#[cold]
pub(crate) fn malformed(error: &serde_json::Error) -> ParseError {
    let (line, column) = (error.line(), error.column());
    let what = if error.is_eof() { "ends unexpectedly" } else { "is not JSON" };
    ParseError::Malformed(format!("the text {what} at line {line}, column {column}"))
}

/// Returns the maximum nesting depth of brackets outside strings. The bytes need not be valid JSON.
#[must_use]
pub fn nesting_depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn format_path(path: &serde_path_to_error::Path) -> String {
    let mut text = path.to_string();
    if text == "." {
        text.clear();
    }
    if text.len() > MAX_PATH_BYTES {
        text.truncate(text.floor_char_boundary(MAX_PATH_BYTES));
        text.push('…');
    }
    text
}

fn join_path(parent: &str, child: &str) -> String {
    match (parent, child) {
        ("", path) | (path, "") => path.to_owned(),
        (parent, child) if child.starts_with('[') => format!("{parent}{child}"),
        (parent, child) => format!("{parent}.{child}"),
    }
}

fn json_type_name(unexpected: Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "integer",
        Unexpected::Float(_) => "number",
        Unexpected::Str(_) | Unexpected::Char(_) => "string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "array",
        Unexpected::Map => "object",
        _ => "value",
    }
}

/// Deserializer for parsed JSON whose errors are [`InvalidField`].
#[derive(Clone, Copy)]
struct ValueDeserializer<'a>(&'a Value);

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = InvalidField;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.iter().map(ValueDeserializer)))
            }
            Value::Object(members) => visitor.visit_map(MapDeserializer::new(
                members.iter().map(|(name, value)| (name.as_str(), ValueDeserializer(value))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidField> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidField> {
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &"an object")),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, InvalidField> for ValueDeserializer<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "the test checks only errors")]
    struct Outer {
        inner: Vec<Inner>,
        any: Option<Value>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "the test checks only errors")]
    struct Inner {
        some_id: String,
    }

    #[test]
    fn parse_error_names_the_field_but_not_its_value() {
        for (text, want) in [
            (r#"{"inner":[{"someId":"a"},{}]}"#, "inner[1].someId: is required"),
            (r#"{"inner":[{"someId":5}]}"#, "inner[0].someId: expected a string, found integer"),
            (r#"{"inner":"secret"}"#, "inner: expected a sequence, found string"),
            (r#"{"inner":[{"someId":"a","someId":"b"}]}"#, "inner[0]: has a duplicate member"),
            (r#"{"#, "malformed JSON: the text ends unexpectedly at line 1, column 1"),
            ("{\n]", "malformed JSON: the text is not JSON at line 2, column 1"),
            (r#"["#, "malformed JSON: the text ends unexpectedly at line 1, column 1"),
            (r#"{"inner":5"#, "malformed JSON: the text ends unexpectedly at line 1, column 10"),
        ] {
            let error = from_str::<Outer>(text).unwrap_err();
            assert_eq!(error.to_string(), want, "{text}");
        }
    }

    #[test]
    fn deep_nesting_error_names_the_nested_field() {
        let text = format!(r#"{{"inner":[],"any":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        let ParseError::Invalid(invalid) = from_str::<Outer>(&text).unwrap_err() else {
            panic!("expected an invalid field");
        };
        assert!(invalid.field.starts_with("any[0][0]"), "{invalid}");
        assert_eq!(invalid.problem, "is nested more than 127 levels deep");
    }
}
