//! What was set up and cannot be used is an error that says what to do, and never passed over.

use super::ClientBuilder;
use crate::discovery::{CardSource, CardTrust};
use crate::error::Error;
use crate::transport::describe_invalid_url;

impl ClientBuilder {
    /// What cannot be used where there is no card to go by.
    pub(super) fn check_without_card(&self) -> Result<(), Error> {
        self.check_trust()?;
        let unused = match (&self.credential_set, &self.trust) {
            (Some(_), _) => "the agent's card chooses from a wallet, and",
            (None, CardTrust::Required(_) | CardTrust::IfSigned(_)) => "trust is in cards, and",
            (None, CardTrust::Unverified) => return Ok(()),
        };
        Err(Error::InvalidSetup(format!("{unused} `build` looks at none: use `connect`")))
    }

    /// A card that the caller hands over was read before, when its signature could be checked.
    pub(super) fn check_trust(&self) -> Result<(), Error> {
        match (&self.source, &self.trust) {
            (CardSource::Card(_), CardTrust::Required(_) | CardTrust::IfSigned(_)) => {
                let problem = "the signature of a card is checked when it is read";
                let advice = "make the client with the address or the file of the card";
                Err(Error::InvalidSetup(format!("{problem}: {advice}")))
            }
            _ => Ok(()),
        }
    }
}

/// The error of something that would be shown at an address, where there is none.
pub(super) fn no_origin_error(what: &str, instead: &str) -> Error {
    let problem = format!("{what} is for the address that the client is made with");
    let advice = format!("make it with the agent's URL, or say the address with `{instead}`");
    Error::InvalidSetup(format!("{problem}, and a card in hand is none: {advice}"))
}

/// The error of an address that is none.
pub(super) fn invalid_url_error(url: &str) -> Error {
    let problem = describe_invalid_url(url);
    let looks_like_path =
        !url.contains("://") && (url.starts_with(['.', '/', '~']) || url.ends_with(".json"));
    Error::InvalidSetup(match looks_like_path {
        true => format!("{problem}; for a card in a file, use a `Path` or `Source::File`"),
        false => problem,
    })
}
