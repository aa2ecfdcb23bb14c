//! Reads the cards of every version.

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
    /// Reads a card of any version: 1.0, 0.3, 0.2, 0.1, or several of them in one.
    ///
    /// An address of 0.x becomes an interface of that version. Where a card says the same in the
    /// words of 1.0 and of 0.3, those of 1.0 count. What is optional and malformed is left out;
    /// [`validate`](super::validate) is there to complain. Lost are `stateTransitionHistory`, which
    /// says nothing to a caller, all but one of several OAuth flows in one scheme, and credentials
    /// that a card of 0.1 may give away.
    ///
    /// Loose words are put right, such as `text` for `text/plain`, and what is missing is filled in
    /// where the card tells. Not so in a card of 1.0 that is signed: it is taken as it is written, so
    /// that its signatures still hold when it is written again.
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
    /// When the bytes are not JSON, or when what a card needs to be of use is missing or of the
    /// wrong type: a name, and an address.
    pub fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        let value: Value = json::from_str(json::utf8_str(bytes)?)?;
        Ok(Self::from_json(&value)?)
    }

    /// Reads a card of any version from JSON that has been parsed already. See [`AgentCard::read`].
    ///
    /// # Errors
    /// The first member that is missing or wrong and that a card cannot do without.
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
            // Drafts of 1.0 said the version once for all interfaces.
            let version = value.as_object().and_then(declared_version);
            card.fill_in_versions(version.unwrap_or(PROTOCOL_VERSION));
            card.normalize_modes();
        }
        Ok(card)
    }

    /// Many a card before 1.0 lists its main address among the others again, and some in another
    /// spelling.
    pub(crate) fn drop_repeated_interfaces(&mut self) {
        let mut seen = HashSet::new();
        self.supported_interfaces.retain(|it| seen.insert(it.clone()));
    }

    /// Modes were optional in 0.1, and some later cards still leave them out.
    pub(crate) fn fill_in_modes(&mut self) {
        for modes in [&mut self.default_input_modes, &mut self.default_output_modes] {
            if modes.is_empty() {
                modes.push(PLAIN_TEXT.to_owned());
            }
        }
    }

    /// An interface that names no version speaks this one.
    pub(crate) fn fill_in_versions(&mut self, version: &str) {
        for interface in &mut self.supported_interfaces {
            if interface.protocol_version.is_empty() {
                interface.protocol_version = version.to_owned();
            }
        }
    }

    /// Modes became media types after 0.1, and many an agent still says `text`.
    pub(crate) fn normalize_modes(&mut self) {
        let modes = [&mut self.default_input_modes, &mut self.default_output_modes].into_iter();
        let skills = self.skills.iter_mut();
        let all = modes.chain(skills.flat_map(|it| [&mut it.input_modes, &mut it.output_modes]));
        for mode in all.flatten().filter(|it| *it == "text") {
            PLAIN_TEXT.clone_into(mode);
        }
    }
}
