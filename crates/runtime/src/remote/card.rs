//! The upstream agent's card as callers see it.

use latimer_protocol::Metadata;
use latimer_protocol::card::AgentCard;
use latimer_server::CURSOR_EXTENSION;
use serde_json::Value;

use crate::peer::redaction::Redactor;

/// Returns the card without upstream hosts, interfaces, authentication and signatures. The server
/// fills in its own interfaces and capabilities.
pub(super) fn public_card(upstream_card: &AgentCard, redactor: &Redactor) -> AgentCard {
    let mut card = upstream_card.clone();
    card.supported_interfaces.clear();
    card.signatures.clear();
    card.security_schemes.clear();
    card.security_requirements.clear();
    card.capabilities.streaming = None;
    card.capabilities.push_notifications = None;
    card.capabilities.extended_agent_card = None;
    card.documentation_url = card.documentation_url.filter(|it| !redactor.matches(it));
    card.icon_url = card.icon_url.filter(|it| !redactor.matches(it));
    card.provider = card.provider.filter(|it| !redactor.matches(&it.url));
    for text in [&mut card.name, &mut card.description, &mut card.version] {
        *text = redactor.redact(text);
    }
    if let Some(provider) = &mut card.provider {
        provider.organization = redactor.redact(&provider.organization);
    }
    card.capabilities
        .extensions
        .retain(|it| it.uri != CURSOR_EXTENSION && !redactor.matches(&it.uri));
    for extension in &mut card.capabilities.extensions {
        extension.description = extension.description.take().map(|it| redactor.redact(&it));
        redact_metadata(&mut extension.params, redactor);
    }
    for skill in &mut card.skills {
        skill.security_requirements.clear();
        let texts = [&mut skill.id, &mut skill.name, &mut skill.description];
        let lists = skill.tags.iter_mut().chain(&mut skill.examples);
        for text in texts.into_iter().chain(lists) {
            *text = redactor.redact(text);
        }
    }
    card
}

/// Removes upstream hosts from free-form members.
fn redact_metadata(members: &mut Metadata, redactor: &Redactor) {
    if members.is_empty() {
        return;
    }
    for (_, value) in members.iter_mut() {
        redact_value(value, redactor);
    }
}

fn redact_value(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => *text = redactor.redact(text),
        Value::Array(items) => items.iter_mut().for_each(|it| redact_value(it, redactor)),
        Value::Object(members) => members.values_mut().for_each(|it| redact_value(it, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every text of the card that can contain a URL contains the upstream URL.
    #[test]
    fn public_card_contains_no_upstream_url() {
        let upstream_url = "http://10.0.0.5:9000";
        let card = AgentCard::from_json(&json!({
            "name": "inner", "description": format!("runs at {upstream_url}"), "version": "1",
            "url": upstream_url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
            "provider": {"organization": "o", "url": upstream_url},
            "documentationUrl": format!("{upstream_url}/docs"), "iconUrl": format!("{upstream_url}/icon"),
            "capabilities": {"streaming": false, "extensions": [
                {"uri": "https://ext.example/a", "description": upstream_url,
                 "params": {"deep": [{"at": format!("{upstream_url}/x")}], "other": 7}},
                {"uri": format!("{upstream_url}/ext")},
            ]},
            "securitySchemes": {"k": {"type": "openIdConnect", "openIdConnectUrl": upstream_url}},
            "security": [{"k": []}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": upstream_url, "tags": ["10.0.0.5"],
                        "examples": [upstream_url], "security": [{"k": []}]}],
            "signatures": [{"protected": "e30", "signature": "AA"}],
        }))
        .unwrap();
        let redactor = Redactor::default();
        redactor.add_url(upstream_url);
        let public_card = public_card(&card, &redactor);
        let text = serde_json::to_string(&public_card).unwrap();
        assert!(!text.contains("10.0.0.5"), "{text}");
        assert!(public_card.signatures.is_empty() && public_card.security_schemes.is_empty());
        assert_eq!(public_card.capabilities.extensions[0].params["other"], 7);
        assert_eq!(public_card.skills[0].id, "s");
    }
}
