//! Conversion of security schemes and requirements to 1.0.

use serde_json::{Map, Value, json};

use super::upgrade::{camel_case, parses_as, retain_valid_items};
use crate::card::security::SCHEME_KINDS;
use crate::card::{SecurityRequirement, SecurityScheme};

/// OAuth flows by preference. 1.0 allows one per scheme, so the first one present is kept.
const FLOWS_BY_PREFERENCE: [&str; 5] =
    ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];

/// Names of the protobuf `oneof` fields for schemes and flows.
const ONEOF_NAMES: [&str; 2] = ["scheme", "flow"];

pub(super) fn upgrade_security(card: &mut Map<String, Value>) {
    upgrade_authentication(card);
    upgrade_requirements(card);
    match card.get_mut("securitySchemes") {
        Some(Value::Object(schemes)) => {
            for scheme in schemes.values_mut() {
                *scheme = upgrade_scheme(&unwrap_js_oneof(scheme));
            }
            schemes.retain(|_, scheme| parses_as::<SecurityScheme>(scheme));
        }
        Some(_) => drop(card.remove("securitySchemes")),
        None => {}
    }
}

/// Converts `security` or `securityRequirements`, in the 0.3 or 1.0 form, to 1.0.
pub(super) fn upgrade_requirements(members: &mut Map<String, Value>) {
    let pre_v1 = members.remove("security");
    if !members.contains_key("securityRequirements")
        && let Some(pre_v1) = pre_v1
    {
        members.insert("securityRequirements".into(), pre_v1);
    }
    if let Some(Value::Array(items)) = members.get_mut("securityRequirements") {
        for item in items {
            *item = upgrade_requirement(item);
        }
    }
    retain_valid_items::<SecurityRequirement>(members, "securityRequirements");
}

/// Converts `{"g": […]}` to `{"schemes": {"g": {"list": […]}}}`; the latter is accepted as it is.
fn upgrade_requirement(item: &Value) -> Value {
    let schemes = match item.get("schemes") {
        Some(Value::Object(schemes)) => schemes,
        _ => match item.as_object() {
            Some(schemes) => schemes,
            None => return item.clone(),
        },
    };
    let upgraded: Map<_, _> = schemes
        .iter()
        .map(|(name, scopes)| {
            let list = if scopes.is_array() { json!({"list": scopes}) } else { scopes.clone() };
            (name.clone(), list)
        })
        .collect();
    json!({"schemes": upgraded})
}

/// Replaces the JavaScript SDK's encoding of a `oneof`, `{"$case": name, "value": …}` under the
/// name of the `oneof`, by the member `name`.
fn unwrap_js_oneof(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    if members.len() == 1
        && let Some(choice) = ONEOF_NAMES.iter().find_map(|name| members.get(*name))
        && let (Some(Value::String(name)), Some(value)) = (choice.get("$case"), choice.get("value"))
    {
        return json!({ name: unwrap_js_oneof(value) });
    }
    members.iter().map(|(name, value)| (name.clone(), unwrap_js_oneof(value))).collect()
}

/// Wraps a flat scheme in the 1.0 member of its kind.
fn upgrade_scheme(scheme: &Value) -> Value {
    let Value::Object(members) = scheme else { return scheme.clone() };
    let mut members = camel_case(members);
    if SCHEME_KINDS.iter().any(|kind| members.contains_key(kind.member)) {
        return Value::Object(members);
    }
    let declared_type = members.remove("type");
    let kind = match &declared_type {
        Some(declared_type) => {
            SCHEME_KINDS.iter().find(|it| declared_type.as_str() == Some(it.name))
        }
        None => SCHEME_KINDS
            .iter()
            .find(|it| it.distinguishing_member.is_none_or(|member| members.contains_key(member))),
    };
    let Some(kind) = kind else { return scheme.clone() };
    if let Some(location) = members.remove("in") {
        members.insert("location".into(), location);
    }
    if let Some(Value::Object(flows)) = members.get_mut("flows") {
        let flow =
            FLOWS_BY_PREFERENCE.into_iter().find_map(|name| Some((name, flows.get(name)?.clone())));
        flows.clear();
        flows.extend(flow.map(|(name, flow)| (name.to_owned(), flow)));
    }
    json!({ kind.member: members })
}

/// Converts `authentication` of 0.1, which lists only scheme names, to schemes and alternative
/// requirements.
fn upgrade_authentication(card: &mut Map<String, Value>) {
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
                // 0.1 does not name the header; this is the most common one.
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
