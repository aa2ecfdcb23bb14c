//! The bytes that a signature covers.
//!
//! §8.4.1 defines one form, and the SDKs sign others. The differences, all of them seen in real
//! signatures: empty texts, lists and objects are removed everywhere, also where the member is
//! required (Python, JavaScript); characters other than ASCII are escaped and numbers are written
//! as Python writes them (Python before 1.3); and cards of 0.3 are signed in their own words,
//! without members that have their default (Python 0.3).

use serde_json::{Map, Value, json};

use super::python;
use super::{AcceptedForms, SignatureError};
use crate::card::AgentCard;
use crate::card::read::{UpgradedCard, camel_case, upgrade};
use crate::json::{self, InvalidField, is_unsafe_integer};

/// A canonical form of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalForm {
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
    pub(super) fn card(&self) -> Result<AgentCard, InvalidField> {
        let published = AgentCard::from_json(&self.published);
        let Some(covered) = &self.covered else { return published };
        let covered = AgentCard::from_json(covered)?;
        let matches_covered =
            |it: &AgentCard| strip_empty(&json!(it)) == strip_empty(&json!(covered));
        Ok(published.ok().filter(matches_covered).unwrap_or(covered))
    }
}

/// The payload of a signature over `card`.
pub(super) fn payload(card: &AgentCard, form: CanonicalForm) -> Result<Vec<u8>, SignatureError> {
    let value = without_signatures(&json!(card));
    check_numbers(&value)?;
    match form {
        CanonicalForm::Specification => jcs(&value),
        CanonicalForm::Stripped => jcs(&strip_empty(&value)),
    }
}

/// Everything that a signature over `card`, as somebody published it, might cover; the form of the
/// specification first.
///
/// # Errors
/// When it is not a card, or holds a number that has no canonical form.
pub(super) fn candidates(
    card: &Value,
    forms: AcceptedForms,
) -> Result<Vec<Candidate>, SignatureError> {
    let as_published = without_signatures(card);
    check_numbers(&as_published)?;
    // A card may have members of other versions beside those of 1.0. They are not part of what
    // is signed unless a reader would use them, so what our reader makes of the card is what counts.
    let UpgradedCard { card: upgraded, pre_v1_version, .. } = upgrade(card)?;
    let members = without_signatures(&json!(json::from_value::<AgentCard>(&upgraded)?));
    let mut candidates = Candidates::default();
    candidates.add(jcs(&members)?, &members, None);
    if forms == AcceptedForms::Any {
        let stripped = strip_empty(&members);
        candidates.add(jcs(&stripped)?, &members, None);
        candidates.add(python::dumps(&stripped), &members, None);
        // Signatures came with 0.3, so that is what a card before 1.0 means when it does not say.
        let fill_defaults =
            |it: &Value| if pre_v1_version.is_some() { with_defaults(it) } else { it.clone() };
        let (stripped, published) = (strip_empty(&as_published), fill_defaults(&as_published));
        let covered = fill_defaults(&stripped);
        candidates.add(jcs(&stripped)?, &published, Some(&covered));
        candidates.add(python::dumps(&stripped), &published, Some(&covered));
        candidates.add(jcs(&as_published)?, &published, None);
        let without_default_members = without_defaults(as_published);
        let stripped = strip_empty(&without_default_members);
        let (published, covered) =
            (with_defaults(&without_default_members), with_defaults(&stripped));
        candidates.add(python::dumps(&stripped), &published, Some(&covered));
    }
    Ok(candidates.0)
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

fn without_signatures(card: &Value) -> Value {
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
fn strip_empty(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let stripped = members.iter().map(|(name, it)| (name.clone(), strip_empty(it)));
            stripped.filter(|(_, it)| !is_empty(it)).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(strip_empty).filter(|it| !is_empty(it)).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specification_example_has_expected_canonical_form() {
        let value = json!({
            "name": "Example Agent",
            "description": "",
            "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
            "skills": [],
        });
        let card: AgentCard = json::from_value(&value).unwrap();
        let text =
            String::from_utf8(payload(&card, CanonicalForm::Specification).unwrap()).unwrap();
        // The example leaves out what it does not talk about.
        assert_eq!(
            text,
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","name":"Example Agent","skills":[],"supportedInterfaces":[],"version":""}"#
        );
        let text = String::from_utf8(payload(&card, CanonicalForm::Stripped).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}"#
        );
    }

    #[test]
    fn strip_removes_values_left_empty() {
        let value =
            json!({"a": "", "b": [[], [""], {"c": null}], "d": 0, "e": false, "f": ["x", ""]});
        assert_eq!(strip_empty(&value), json!({"d": 0, "e": false, "f": ["x"]}));
    }
}
