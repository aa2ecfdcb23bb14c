//! The card of the agent behind, as callers see it.

use latimer_protocol::Metadata;
use latimer_protocol::card::AgentCard;
use latimer_server::CURSOR_EXTENSION;
use serde_json::Value;

use super::words::Words;

/// The card without where the agent is, and without what only those who call it there need: its
/// addresses, its ways to be let in, its signatures. What the server serves is the server's to fill in.
pub(super) fn published(found: &AgentCard, words: &Words) -> AgentCard {
    let mut card = found.clone();
    card.supported_interfaces.clear();
    card.signatures.clear();
    card.security_schemes.clear();
    card.security_requirements.clear();
    card.capabilities.streaming = None;
    card.capabilities.push_notifications = None;
    card.capabilities.extended_agent_card = None;
    card.documentation_url = card.documentation_url.filter(|it| !words.leaks(it));
    card.icon_url = card.icon_url.filter(|it| !words.leaks(it));
    card.provider = card.provider.filter(|it| !words.leaks(&it.url));
    for text in [&mut card.name, &mut card.description, &mut card.version] {
        *text = words.clean(text);
    }
    if let Some(provider) = &mut card.provider {
        provider.organization = words.clean(&provider.organization);
    }
    card.capabilities.extensions.retain(|it| it.uri != CURSOR_EXTENSION && !words.leaks(&it.uri));
    for extension in &mut card.capabilities.extensions {
        extension.description = extension.description.take().map(|it| words.clean(&it));
        clean(&mut extension.params, words);
    }
    for skill in &mut card.skills {
        skill.security_requirements.clear();
        let texts = [&mut skill.id, &mut skill.name, &mut skill.description];
        let lists = skill.tags.iter_mut().chain(&mut skill.examples);
        for text in texts.into_iter().chain(lists) {
            *text = words.clean(text);
        }
    }
    card
}

/// Hides addresses in free-form members.
fn clean(members: &mut Metadata, words: &Words) {
    if members.is_empty() {
        return;
    }
    for (_, value) in members.iter_mut() {
        clean_value(value, words);
    }
}

fn clean_value(value: &mut Value, words: &Words) {
    match value {
        Value::String(text) => *text = words.clean(text),
        Value::Array(items) => items.iter_mut().for_each(|it| clean_value(it, words)),
        Value::Object(members) => members.values_mut().for_each(|it| clean_value(it, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every text of a card that can hold an address holds the inner one.
    #[test]
    fn nothing_of_a_card_says_where_the_agent_is() {
        let inner = "http://10.0.0.5:9000";
        let card = AgentCard::from_json(&json!({
            "name": "inner", "description": format!("lives at {inner}"), "version": "1",
            "url": inner, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
            "provider": {"organization": "o", "url": inner},
            "documentationUrl": format!("{inner}/docs"), "iconUrl": format!("{inner}/icon"),
            "capabilities": {"streaming": false, "extensions": [
                {"uri": "https://ext.example/a", "description": inner,
                 "params": {"deep": [{"at": format!("{inner}/x")}], "other": 7}},
                {"uri": format!("{inner}/ext")},
            ]},
            "securitySchemes": {"k": {"type": "openIdConnect", "openIdConnectUrl": inner}},
            "security": [{"k": []}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "s", "description": inner, "tags": ["10.0.0.5"],
                        "examples": [inner], "security": [{"k": []}]}],
            "signatures": [{"protected": "e30", "signature": "AA"}],
        }))
        .unwrap();
        let words = Words::default();
        words.hide(inner);
        let published = published(&card, &words);
        let text = serde_json::to_string(&published).unwrap();
        assert!(!text.contains("10.0.0.5"), "{text}");
        assert!(published.signatures.is_empty() && published.security_schemes.is_empty());
        assert_eq!(published.capabilities.extensions[0].params["other"], 7);
        assert_eq!(published.skills[0].id, "s");
    }
}
