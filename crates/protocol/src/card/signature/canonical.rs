//! Canonical forms of a card, the bytes that a signature covers.
//!
//! §8.4.1 defines one form, but SDKs sign others. Observed differences:
//! - Empty strings, lists and objects are removed, even required members (Python, JavaScript).
//! - Non-ASCII characters are escaped and numbers are formatted as in Python (Python before 1.3).
//! - Cards of 0.3 are signed with their 0.3 members, without default values (Python 0.3).

use serde_json::{Map, Value, json};

use super::python;
use super::{AcceptedForms, SignatureError};
use crate::card::AgentCard;
use crate::card::read::{UpgradedCard, camel_case, upgrade};
use crate::json::{self, InvalidField, is_unsafe_integer};

/// Canonical form of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalForm {
    /// Form of the specification, which includes required members even if they are empty.
    Specification,
    /// Form of the Python and JavaScript SDKs, without empty members.
    Stripped,
}

/// Payload that a signature may cover, with the card that it proves.
pub(super) struct Candidate {
    /// The published card. Its empty members may be missing from the payload.
    published: Value,
    /// The members that the payload covers; `None` if it covers all members or if empty members
    /// cannot change how the others are read.
    covered: Option<Value>,
    /// The canonical form, the payload of the signature.
    pub(super) payload: Vec<u8>,
}

impl Candidate {
    /// Returns the card that a signature over the payload proves.
    ///
    /// The card includes empty members, although the signature may not cover them: without a
    /// security requirement that has no scopes, a caller would send no credentials. But an empty
    /// member can also hide a covered one, as an empty `securityRequirements` hides `security`. In
    /// that case only covered members are returned.
    ///
    /// # Errors
    /// Returns [`InvalidField`] if the payload is not a valid card.
    pub(super) fn card(&self) -> Result<AgentCard, InvalidField> {
        let published = AgentCard::from_json(&self.published);
        let Some(covered) = &self.covered else { return published };
        let covered = AgentCard::from_json(covered)?;
        let matches_covered =
            |it: &AgentCard| strip_empty(&json!(it)) == strip_empty(&json!(covered));
        Ok(published.ok().filter(matches_covered).unwrap_or(covered))
    }
}

/// Computes the payload of a signature over `card`.
pub(super) fn payload(card: &AgentCard, form: CanonicalForm) -> Result<Vec<u8>, SignatureError> {
    let value = without_signatures(&json!(card));
    check_numbers(&value)?;
    match form {
        CanonicalForm::Specification => jcs(&value),
        CanonicalForm::Stripped => jcs(&strip_empty(&value)),
    }
}

/// Returns all payloads that a signature over a published card may cover, that of the specification
/// first.
///
/// # Errors
/// Returns [`SignatureError`] if the value is not a card or contains an integer without canonical
/// form.
pub(super) fn candidates(
    card: &Value,
    forms: AcceptedForms,
) -> Result<Vec<Candidate>, SignatureError> {
    let as_published = without_signatures(card);
    check_numbers(&as_published)?;
    // A card may contain members of other versions. Signatures cover only members that the reader
    // uses, so the payload is computed from the card as it is read.
    let UpgradedCard { card: upgraded, pre_v1_version, .. } = upgrade(card)?;
    let members = without_signatures(&json!(json::from_value::<AgentCard>(&upgraded)?));
    let mut candidates = Candidates::default();
    candidates.add(jcs(&members)?, &members, None);
    if forms == AcceptedForms::Any {
        let stripped = strip_empty(&members);
        candidates.add(jcs(&stripped)?, &members, None);
        candidates.add(python::dumps(&stripped), &members, None);
        // Signatures were introduced in 0.3, so a signed card before 1.0 has the defaults of 0.3.
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

/// Serializes a value according to RFC 8785.
fn jcs(value: &Value) -> Result<Vec<u8>, SignatureError> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| SignatureError::NoCanonicalForm(error.to_string()))
}

/// Removes `null` and empty strings, lists and objects recursively, including containers that
/// become empty.
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

/// Members of a 0.3 card that may be omitted if they have these values.
const DEFAULTS: [(&str, &str); 2] =
    [("protocolVersion", "0.3.0"), ("preferredTransport", "JSONRPC")];

/// Removes members with default values and the types of security schemes from a 0.3 card.
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

/// Adds default values to a 0.3 card. Types of security schemes are not restored: no signature
/// covers them, and the other members identify the scheme.
fn with_defaults(card: &Value) -> Value {
    let Value::Object(members) = card else { return card.clone() };
    // Renames members first, so that a default does not hide a member in snake_case.
    let mut members = camel_case(members);
    for (name, default) in DEFAULTS {
        if members.get(name).is_none_or(is_empty) {
            members.insert(name.into(), default.into());
        }
    }
    Value::Object(members)
}

/// Rejects integers beyond the exact range of a double. Two such integers can have the same
/// canonical form, so an attacker could replace one by the other.
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
        // The specification's example omits members that it does not discuss.
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
