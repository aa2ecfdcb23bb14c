//! Interfaces of an agent: URL, binding, version and tenant.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::wire;
use crate::version::{PROTOCOL_VERSION, Version};

/// One interface of an agent: where and how it is called.
///
/// ```
/// use latimer_protocol::Version;
/// use latimer_protocol::card::{AgentInterface, ProtocolBinding};
///
/// let interface = AgentInterface::new("https://a.example/a2a", ProtocolBinding::JsonRpc);
/// assert_eq!(interface.version(), Some(Version::V1_0));
/// let interface = interface.with_version(Version::V0_3);
/// assert_eq!(interface.protocol_version, "0.3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// URL of the interface. For gRPC it may be just `host:port`.
    pub url: String,
    /// Transport of the interface.
    #[serde(default, alias = "protocol_binding", deserialize_with = "wire::nullable")]
    pub protocol_binding: ProtocolBinding,
    /// Tenant to specify in each call.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Protocol version, such as `1.0`. May be unsupported, and may be empty in signed cards; see
    /// [`AgentInterface::version`].
    #[serde(default, alias = "protocol_version", deserialize_with = "wire::nullable")]
    pub protocol_version: String,
}

impl AgentInterface {
    /// Creates an interface of the current protocol version without a tenant.
    pub fn new(url: impl Into<String>, binding: ProtocolBinding) -> Self {
        Self {
            url: url.into(),
            protocol_binding: binding,
            tenant: None,
            protocol_version: PROTOCOL_VERSION.to_owned(),
        }
    }

    /// Sets the protocol version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.protocol_version = version.as_str().to_owned();
        self
    }

    /// Sets the tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Returns the protocol version; `None` if it is not supported. An empty version means the
    /// current one.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        let declared = Some(self.protocol_version.as_str()).filter(|it| !it.is_empty());
        declared.unwrap_or(PROTOCOL_VERSION).parse().ok()
    }
}

impl Default for AgentInterface {
    /// Creates a JSON-RPC interface of the current version with an empty URL.
    fn default() -> Self {
        Self::new("", ProtocolBinding::default())
    }
}

/// Transport of an interface, as named in cards.
///
/// Parsing accepts all spellings in use and ignores case; formatting uses the spelling of the
/// specification.
///
/// ```
/// # use latimer_protocol::card::ProtocolBinding;
/// assert_eq!(ProtocolBinding::from("json-rpc"), ProtocolBinding::JsonRpc);
/// assert_eq!(ProtocolBinding::from("rest").as_str(), "HTTP+JSON");
/// assert_eq!(ProtocolBinding::from("https://a.example/ws").as_str(), "https://a.example/ws");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtocolBinding {
    /// JSON-RPC 2.0 over HTTP.
    #[default]
    JsonRpc,
    /// HTTP with JSON bodies, the REST API of A2A.
    HttpJson,
    /// gRPC.
    Grpc,
    /// Custom binding, usually identified by a URI.
    Other(String),
}

impl ProtocolBinding {
    /// Returns the name as written in cards.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for ProtocolBinding {
    fn from(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            // Versions before 1.0 default to JSON-RPC.
            "" | "jsonrpc" | "json-rpc" | "json_rpc" | "jsonrpc2.0" => Self::JsonRpc,
            "http+json" | "http_json" | "http-json" | "http" | "rest" => Self::HttpJson,
            "grpc" => Self::Grpc,
            _ => Self::Other(name.to_owned()),
        }
    }
}

impl From<String> for ProtocolBinding {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl fmt::Display for ProtocolBinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl Serialize for ProtocolBinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProtocolBinding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn binding_parses_from_all_spellings() {
        for (names, want) in [
            (&["JSONRPC", "jsonrpc", "json-rpc", "JSON-RPC", ""][..], ProtocolBinding::JsonRpc),
            (&["HTTP+JSON", "http+json", "REST", "rest"], ProtocolBinding::HttpJson),
            (&["GRPC", "gRPC", "grpc"], ProtocolBinding::Grpc),
            (&["urn:x:Pigeon"], ProtocolBinding::Other("urn:x:Pigeon".into())),
        ] {
            for name in names {
                let read: ProtocolBinding = serde_json::from_value(json!(name)).unwrap();
                assert_eq!(read, want, "{name}");
            }
            assert_eq!(json!(want), want.as_str());
        }
    }

    #[test]
    fn interface_version_text_round_trips_even_if_unknown() {
        for (text, want) in [
            ("1.0", Some(Version::V1_0)),
            ("1.0.1", Some(Version::V1_0)),
            ("0.3.0", Some(Version::V0_3)),
            ("0.2.5", Some(Version::V0_3)),
            ("0.1", Some(Version::V0_1)),
            ("2.0", None),
            ("", Some(Version::V1_0)),
        ] {
            let wire = json!({"url": "u", "protocolBinding": "GRPC", "protocolVersion": text});
            let interface: AgentInterface = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(interface.version(), want, "{text}");
            assert_eq!(json!(interface), wire);
        }
    }
}
