//! Claims of a token.

use latimer_protocol::Metadata;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Claims that contain scopes, as a string separated by spaces or as a list.
const SCOPE_CLAIMS: [&str; 2] = ["scope", "scp"];

/// Claims of a verified token.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn string_claim(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> = Vec::new();
        for claim in SCOPE_CLAIMS.iter().filter_map(|it| self.0.get(*it)) {
            match claim {
                Value::String(text) => scopes.extend(text.split_whitespace().map(str::to_owned)),
                Value::Array(list) => {
                    scopes.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
                }
                _ => {}
            }
        }
        scopes
    }

    pub(super) fn into_metadata(self) -> Metadata {
        self.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_are_read_from_scope_and_scp_claims() {
        for (claims, want) in [
            (json!({"scope": "a  b"}), "a b"),
            (json!({"scp": ["a", "b", 1]}), "a b"),
            (json!({"scp": "c", "scope": "a"}), "a c"),
            (json!({"scope": 1}), ""),
            (json!({}), ""),
        ] {
            let parsed: Claims = serde_json::from_value(claims.clone()).unwrap();
            assert_eq!(parsed.scopes().join(" "), want, "{claims}");
        }
    }
}
