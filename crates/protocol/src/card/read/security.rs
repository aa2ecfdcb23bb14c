//! Lifts the ways to authenticate of older cards to those of 1.0.

use serde_json::{Map, Value, json};

use super::lift::{camel_case, is, keep_items};
use crate::card::security::KINDS;
use crate::card::{SecurityRequirement, SecurityScheme};

/// The flows of OAuth, in the order in which one of several is kept: 1.0 has room for one only.
const FLOWS: [&str; 5] =
    ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];

/// What the protobuf file calls the choices between schemes and between flows.
const CHOICES: [&str; 2] = ["scheme", "flow"];

pub(super) fn lift_security(card: &mut Map<String, Value>) {
    lift_authentication(card);
    lift_requirements(card);
    match card.get_mut("securitySchemes") {
        Some(Value::Object(schemes)) => {
            for scheme in schemes.values_mut() {
                *scheme = lift_scheme(&chosen(scheme));
            }
            schemes.retain(|_, scheme| is::<SecurityScheme>(scheme));
        }
        Some(_) => drop(card.remove("securitySchemes")),
        None => {}
    }
}

/// Requirements are read in both shapes, and under both of their names.
pub(super) fn lift_requirements(members: &mut Map<String, Value>) {
    let older = members.remove("security");
    if !members.contains_key("securityRequirements")
        && let Some(older) = older
    {
        members.insert("securityRequirements".into(), older);
    }
    if let Some(Value::Array(items)) = members.get_mut("securityRequirements") {
        for item in items {
            *item = lift_requirement(item);
        }
    }
    keep_items::<SecurityRequirement>(members, "securityRequirements");
}

/// `{"schemes": {"g": {"list": […]}}}` as it is, and `{"g": […]}` likewise.
fn lift_requirement(item: &Value) -> Value {
    let schemes = match item.get("schemes") {
        Some(Value::Object(schemes)) => schemes,
        _ => match item.as_object() {
            Some(schemes) => schemes,
            None => return item.clone(),
        },
    };
    let lifted: Map<_, _> = schemes
        .iter()
        .map(|(name, scopes)| {
            let list = if scopes.is_array() { json!({"list": scopes}) } else { scopes.clone() };
            (name.clone(), list)
        })
        .collect();
    json!({"schemes": lifted})
}

/// The JavaScript SDK publishes its own way to hold one of several, `{"$case": name, "value": …}`
/// under the name of the choice, in place of the one member that was chosen.
fn chosen(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    if members.len() == 1
        && let Some(choice) = CHOICES.iter().find_map(|name| members.get(*name))
        && let (Some(Value::String(name)), Some(value)) = (choice.get("$case"), choice.get("value"))
    {
        return json!({ name: chosen(value) });
    }
    members.iter().map(|(name, value)| (name.clone(), chosen(value))).collect()
}

/// A scheme under the member of its kind.
fn lift_scheme(scheme: &Value) -> Value {
    let Value::Object(members) = scheme else { return scheme.clone() };
    let mut members = camel_case(members);
    if KINDS.iter().any(|kind| members.contains_key(kind.member)) {
        return Value::Object(members);
    }
    let said = members.remove("type");
    let kind = match &said {
        Some(said) => KINDS.iter().find(|it| said.as_str() == Some(it.name)),
        None => KINDS.iter().find(|it| it.mark.is_none_or(|mark| members.contains_key(mark))),
    };
    let Some(kind) = kind else { return scheme.clone() };
    if let Some(location) = members.remove("in") {
        members.insert("location".into(), location);
    }
    if let Some(Value::Object(flows)) = members.get_mut("flows") {
        let flow = FLOWS.into_iter().find_map(|name| Some((name, flows.get(name)?.clone())));
        flows.clear();
        flows.extend(flow.map(|(name, flow)| (name.to_owned(), flow)));
    }
    json!({ kind.member: members })
}

/// 0.1 names schemes of HTTP and nothing else about them. Each is enough for itself.
fn lift_authentication(card: &mut Map<String, Value>) {
    if card.contains_key("securitySchemes") {
        return;
    }
    let Some(names) = card.get("authentication").and_then(|it| it.get("schemes")?.as_array())
    else {
        return;
    };
    let names: Vec<String> = names.iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect();
    let schemes: Map<_, _> = names
        .iter()
        .map(|name| {
            let scheme = match name.to_ascii_lowercase().as_str() {
                // It does not say which header: this is the usual one.
                "apikey" | "api_key" | "api-key" => SecurityScheme::api_key("X-API-Key"),
                "bearer" | "oauth2" | "oauth" | "jwt" => SecurityScheme::bearer(),
                _ => SecurityScheme::http(name),
            };
            (name.clone(), json!(scheme))
        })
        .collect();
    let requirements = names.iter().map(|name| json!(SecurityRequirement::scheme(name)));
    if !schemes.is_empty() {
        card.insert("securityRequirements".into(), requirements.collect());
        card.insert("securitySchemes".into(), Value::Object(schemes));
    }
}
