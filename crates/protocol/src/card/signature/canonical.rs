//! The bytes that a signature covers.
//!
//! §8.4.1 defines one form, and the SDKs sign others. The differences, all of them seen in real
//! signatures: empty texts, lists and objects are removed everywhere, also where the member is
//! required (Python, JavaScript); characters other than ASCII are escaped and numbers are written
//! as Python writes them (Python before 1.3); and cards of 0.3 are signed in their own words,
//! without members that have their default (Python 0.3).

use serde_json::{Map, Number, Value, json};

use super::python;
use super::{CanonicalForms, SignatureError};
use crate::card::AgentCard;
use crate::card::read::{Lifted, camel_case, lift};
use crate::json::{self, Invalid};

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A canonical form of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canonical {
    /// That of the specification: required members are there even when they are empty.
    Specification,
    /// That of the SDKs for Python and JavaScript: nothing that is empty is there.
    Stripped,
}

/// Something a signature might cover.
pub(super) struct Candidate {
    /// The card as published, with what is empty in it and may therefore not be in the payload.
    published: Value,
    /// The card as far as the payload has it, where what is empty could change how the rest is read.
    covered: Option<Value>,
    /// The canonical form.
    pub(super) payload: Vec<u8>,
}

impl Candidate {
    /// The card that a signature over the payload proves.
    ///
    /// What is empty stays in it although it may not be covered: without a security requirement
    /// that names no scopes, a caller would send no credentials. But something empty can also stand
    /// in front of something that is covered, as `securityRequirements` do for `security`; then
    /// only what is covered counts.
    ///
    /// # Errors
    /// When it is not a card.
    pub(super) fn card(&self) -> Result<AgentCard, Invalid> {
        let published = AgentCard::from_json(&self.published);
        let Some(covered) = &self.covered else { return published };
        let covered = AgentCard::from_json(covered)?;
        let same = |it: &AgentCard| strip(&json!(it)) == strip(&json!(covered));
        Ok(published.ok().filter(same).unwrap_or(covered))
    }
}

/// The payload of a signature over `card`.
pub(super) fn payload(card: &AgentCard, canonical: Canonical) -> Result<Vec<u8>, SignatureError> {
    let value = unsigned(&json!(card));
    check_numbers(&value)?;
    match canonical {
        Canonical::Specification => jcs(&value),
        Canonical::Stripped => jcs(&strip(&value)),
    }
}

/// Everything that a signature over `card`, as somebody published it, might cover; the form of the
/// specification first.
///
/// # Errors
/// When it is not a card, or holds a number that has no canonical form.
pub(super) fn candidates(
    card: &Value,
    forms: CanonicalForms,
) -> Result<Vec<Candidate>, SignatureError> {
    let text = unsigned(card);
    check_numbers(&text)?;
    // A card may have members of other versions beside those of 1.0. They are not part of what
    // is signed unless a reader would use them, so what our reader makes of the card is what counts.
    let Lifted { card: lifted, older, .. } = lift(card)?;
    let members = unsigned(&json!(json::from_value::<AgentCard>(&lifted)?));
    let mut found = Candidates::default();
    found.add(jcs(&members)?, &members, None);
    if forms == CanonicalForms::Any {
        let stripped = strip(&members);
        found.add(jcs(&stripped)?, &members, None);
        found.add(python::dumps(&stripped), &members, None);
        // Signatures came with 0.3, so that is what a card before 1.0 means when it does not say.
        let meant = |it: &Value| if older.is_some() { with_defaults(it) } else { it.clone() };
        let (stripped, published) = (strip(&text), meant(&text));
        let covered = meant(&stripped);
        found.add(jcs(&stripped)?, &published, Some(&covered));
        found.add(python::dumps(&stripped), &published, Some(&covered));
        found.add(jcs(&text)?, &published, None);
        let text = without_defaults(text);
        let stripped = strip(&text);
        let (published, covered) = (with_defaults(&text), with_defaults(&stripped));
        found.add(python::dumps(&stripped), &published, Some(&covered));
    }
    Ok(found.0)
}

#[derive(Default)]
struct Candidates(Vec<Candidate>);

impl Candidates {
    fn add(&mut self, payload: Vec<u8>, published: &Value, covered: Option<&Value>) {
        if self.0.iter().all(|it| it.payload != payload) {
            let (published, covered) = (published.clone(), covered.cloned());
            self.0.push(Candidate { published, covered, payload });
        }
    }
}

fn unsigned(card: &Value) -> Value {
    let mut card = card.clone();
    if let Value::Object(members) = &mut card {
        members.remove("signatures");
    }
    card
}

/// RFC 8785.
fn jcs(value: &Value) -> Result<Vec<u8>, SignatureError> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| SignatureError::NoCanonicalForm(error.to_string()))
}

/// Without `null`, and without empty texts, lists and objects, nor what they leave empty.
fn strip(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().map(|(name, it)| (name.clone(), strip(it)));
            kept.filter(|(_, it)| !is_empty(it)).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(strip).filter(|it| !is_empty(it)).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Members of a card of 0.3 that need not be written when they have this value.
const DEFAULTS: [(&str, &str); 2] =
    [("protocolVersion", "0.3.0"), ("preferredTransport", "JSONRPC")];

/// A card of 0.3 without the members that have their default. The kind of a scheme is one.
fn without_defaults(mut card: Value) -> Value {
    let Value::Object(members) = &mut card else { return card };
    for (name, default) in DEFAULTS {
        if members.get(name).is_some_and(|it| it == default) {
            members.remove(name);
        }
    }
    let schemes = members.get_mut("securitySchemes").and_then(Value::as_object_mut);
    for scheme in schemes.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        scheme.remove("type");
    }
    card
}

/// A card of 0.3 with what it means where it does not say. The kind of a scheme is not put back: no
/// signature covers it, and the scheme's other members tell.
fn with_defaults(card: &Value) -> Value {
    let Value::Object(members) = card else { return card.clone() };
    // In one spelling, so that no default stands in front of what the card says in the other.
    let mut members = camel_case(members);
    for (name, default) in DEFAULTS {
        if members.get(name).is_none_or(is_empty) {
            members.insert(name.into(), default.into());
        }
    }
    Value::Object(members)
}

/// Two integers that a double cannot tell apart have one canonical form, so that one of them could
/// be put in the place of the other.
fn check_numbers(value: &Value) -> Result<(), SignatureError> {
    match value {
        Value::Number(number) if is_unsafe_integer(number) => {
            Err(SignatureError::UnsafeNumber(number.to_string()))
        }
        Value::Array(items) => items.iter().try_for_each(check_numbers),
        Value::Object(members) => members.values().try_for_each(check_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Whether it is an integer that not every JSON reader keeps exactly.
pub(crate) fn is_unsafe_integer(number: &Number) -> bool {
    let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    size.is_some_and(|it| it > MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let value = json!({
            "name": "Example Agent",
            "description": "",
            "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
            "skills": [],
        });
        let card: AgentCard = json::from_value(&value).unwrap();
        let text = String::from_utf8(payload(&card, Canonical::Specification).unwrap()).unwrap();
        // The example leaves out what it does not talk about.
        assert_eq!(
            text,
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","name":"Example Agent","skills":[],"supportedInterfaces":[],"version":""}"#
        );
        let text = String::from_utf8(payload(&card, Canonical::Stripped).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}"#
        );
    }

    #[test]
    fn integers_that_doubles_cannot_hold_are_refused() {
        for (number, fits) in [
            (json!(MAX_INTEGER), true),
            (json!(MAX_INTEGER + 1), false),
            (json!(-9_007_199_254_740_991_i64), true),
            (json!(-9_007_199_254_740_992_i64), false),
            (json!(u64::MAX), false),
            (json!(1e300), true),
        ] {
            let value = json!({"a": [{"b": number}]});
            assert_eq!(check_numbers(&value).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn what_is_left_empty_is_removed_too() {
        let value =
            json!({"a": "", "b": [[], [""], {"c": null}], "d": 0, "e": false, "f": ["x", ""]});
        assert_eq!(strip(&value), json!({"d": 0, "e": false, "f": ["x"]}));
    }
}
