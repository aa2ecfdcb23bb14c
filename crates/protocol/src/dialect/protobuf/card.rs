//! Conversions of the smaller messages of an agent card.

use latimer_pb::{v0_3, v1};

use crate::card::{AgentCardSignature, AgentExtension, AgentProvider};
use crate::dialect::field::{optional_text, required_text, text_or_empty};
use crate::dialect::wellknown::{from_struct, to_struct};
use crate::json::InvalidField;

/// Returns the id and name of a skill; a missing one is replaced by the other.
pub(in crate::dialect) fn id_and_name(
    id: String,
    name: String,
) -> Result<(String, String), InvalidField> {
    match (optional_text(id), optional_text(name)) {
        (Some(id), Some(name)) => Ok((id, name)),
        (Some(only), None) | (None, Some(only)) => Ok((only.clone(), only)),
        (None, None) => Err(InvalidField::missing("id")),
    }
}

macro_rules! conversions {
    ($pb:ident) => {
        impl From<&AgentProvider> for $pb::AgentProvider {
            fn from(provider: &AgentProvider) -> Self {
                Self { url: provider.url.clone(), organization: provider.organization.clone() }
            }
        }

        impl From<$pb::AgentProvider> for AgentProvider {
            fn from(provider: $pb::AgentProvider) -> Self {
                Self { url: provider.url, organization: provider.organization }
            }
        }

        impl From<&AgentExtension> for $pb::AgentExtension {
            fn from(extension: &AgentExtension) -> Self {
                Self {
                    uri: extension.uri.clone(),
                    description: text_or_empty(extension.description.as_deref()),
                    required: extension.required,
                    params: to_struct(&extension.params),
                }
            }
        }

        impl TryFrom<$pb::AgentExtension> for AgentExtension {
            type Error = InvalidField;

            fn try_from(extension: $pb::AgentExtension) -> Result<Self, InvalidField> {
                Ok(Self {
                    uri: extension.uri,
                    description: optional_text(extension.description),
                    required: extension.required,
                    params: from_struct(extension.params, "params")?,
                })
            }
        }

        impl TryFrom<$pb::AgentCardSignature> for AgentCardSignature {
            type Error = InvalidField;

            fn try_from(signature: $pb::AgentCardSignature) -> Result<Self, InvalidField> {
                Ok(Self {
                    protected: required_text(signature.protected, "protected")?,
                    signature: required_text(signature.signature, "signature")?,
                    header: from_struct(signature.header, "header")?,
                })
            }
        }
    };
}

conversions!(v0_3);
conversions!(v1);
