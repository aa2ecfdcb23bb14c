//! Reader for cards of every version.
//!
//! | module | content |
//! | --- | --- |
//! | `security` | conversion of security schemes and requirements to 1.0 |
//! | `upgrade` | conversion of all other members to 1.0 |

mod security;
#[cfg(test)]
mod tests;
mod upgrade;

use std::collections::HashSet;

use serde_json::Value;

#[cfg(feature = "signature")]
pub(super) use upgrade::camel_case;
pub(crate) use upgrade::major_minor;
use upgrade::{ReadMode, declared_version};
pub(super) use upgrade::{UpgradedCard, upgrade};

use super::AgentCard;
use super::model::PLAIN_TEXT;
use crate::json::{self, InvalidField, ParseError};
use crate::version::PROTOCOL_VERSION;

impl AgentCard {
    /// Reads a card of version 1.0, 0.3, 0.2 or 0.1, or one that combines several versions.
    ///
    /// URLs of 0.x cards become interfaces of that version. If a card contains both the 1.0 and the
    /// 0.3 form of a member, the 1.0 form is used. Malformed optional members are dropped;
    /// [`validate`](super::validate) reports them. Also dropped are `stateTransitionHistory`, all
    /// but one of several OAuth flows of a scheme, and credentials in a 0.1 card.
    ///
    /// Values are normalized, such as `text` to `text/plain`, and missing members are derived from
    /// others where possible. A signed card of 1.0 is read verbatim, so that its signatures remain
    /// valid when it is written again.
    ///
    /// ```
    /// # use latimer_protocol::{Version, card::{AgentCard, ProtocolBinding}};
    /// let card = AgentCard::read(br#"{
    ///     "protocolVersion": "0.3.0", "name": "old", "description": "An agent of 0.3",
    ///     "version": "1.0.0", "url": "https://a.example", "preferredTransport": "HTTP+JSON",
    ///     "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
    ///     "skills": []
    /// }"#)?;
    /// let interface = &card.supported_interfaces[0];
    /// assert_eq!(interface.protocol_binding, ProtocolBinding::HttpJson);
    /// assert_eq!(interface.version(), Some(Version::V0_3));
    /// assert_eq!(card.default_input_modes, ["text/plain"]);
    /// # Ok::<(), latimer_protocol::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ParseError`] if the bytes are not JSON, or a required member (the name or all
    /// URLs) is missing or has the wrong type.
    pub fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        let value: Value = json::from_str(json::utf8_str(bytes)?)?;
        Ok(Self::from_json(&value)?)
    }

    /// Reads a card of any version from parsed JSON. See [`AgentCard::read`].
    ///
    /// # Errors
    /// Returns the first required member that is missing or has the wrong type.
    pub fn from_json(value: &Value) -> Result<Self, InvalidField> {
        let UpgradedCard { card, pre_v1_version, read_mode } = upgrade(value)?;
        let mut card: Self = json::from_value(&card)?;
        if card.supported_interfaces.is_empty() {
            return Err(InvalidField::missing("supportedInterfaces"));
        }
        if pre_v1_version.is_some() {
            card.drop_repeated_interfaces();
            card.fill_in_modes();
        }
        if read_mode == ReadMode::Normalized {
            // Drafts of 1.0 declared the version once for all interfaces.
            let version = value.as_object().and_then(declared_version);
            card.fill_in_versions(version.unwrap_or(PROTOCOL_VERSION));
            card.normalize_modes();
        }
        Ok(card)
    }

    /// Removes repeated interfaces. Many cards before 1.0 list the main URL again under
    /// `additionalInterfaces`.
    pub(crate) fn drop_repeated_interfaces(&mut self) {
        let mut seen = HashSet::new();
        self.supported_interfaces.retain(|it| seen.insert(it.clone()));
    }

    /// Sets missing input and output modes to plain text. They were optional in 0.1, and some newer
    /// cards omit them as well.
    pub(crate) fn fill_in_modes(&mut self) {
        for modes in [&mut self.default_input_modes, &mut self.default_output_modes] {
            if modes.is_empty() {
                modes.push(PLAIN_TEXT.to_owned());
            }
        }
    }

    /// Sets the version of interfaces that declare none.
    pub(crate) fn fill_in_versions(&mut self, version: &str) {
        for interface in &mut self.supported_interfaces {
            if interface.protocol_version.is_empty() {
                interface.protocol_version = version.to_owned();
            }
        }
    }

    /// Replaces the mode `text` of 0.1, which some newer cards still use, by `text/plain`.
    pub(crate) fn normalize_modes(&mut self) {
        let modes = [&mut self.default_input_modes, &mut self.default_output_modes].into_iter();
        let skills = self.skills.iter_mut();
        let all = modes.chain(skills.flat_map(|it| [&mut it.input_modes, &mut it.output_modes]));
        for mode in all.flatten().filter(|it| *it == "text") {
            PLAIN_TEXT.clone_into(mode);
        }
    }
}
