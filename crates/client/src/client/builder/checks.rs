//! Checks of options. An option that cannot take effect is an error that says what to change.

use super::ClientBuilder;
use crate::discovery::{CardSource, CardTrust};
use crate::error::Error;
use crate::transport::describe_invalid_url;

impl ClientBuilder {
    /// Rejects options that need a card.
    pub(super) fn check_without_card(&self) -> Result<(), Error> {
        self.check_trust()?;
        let unused = match (&self.credential_set, &self.trust) {
            (Some(_), _) => "a credential set",
            (None, CardTrust::Required(_) | CardTrust::IfSigned(_)) => "verification of signatures",
            (None, CardTrust::Unverified) => return Ok(()),
        };
        Err(Error::InvalidSetup(format!(
            "{unused} needs a card, and `build` fetches none: use `connect`"
        )))
    }

    /// Rejects verification of a card that the caller passes as a value: verification needs the JSON
    /// that was signed.
    pub(super) fn check_trust(&self) -> Result<(), Error> {
        match (&self.source, &self.trust) {
            (CardSource::Card(_), CardTrust::Required(_) | CardTrust::IfSigned(_)) => {
                let problem = "signatures can be verified only while a card is parsed";
                let advice = "create the client with the URL or the file of the card";
                Err(Error::InvalidSetup(format!("{problem}: {advice}")))
            }
            _ => Ok(()),
        }
    }
}

/// Creates the error of an option that needs an origin where there is none.
pub(super) fn no_origin_error(what: &str, instead: &str) -> Error {
    let problem = format!("{what} needs an origin, and a client created from a card has none");
    let advice = format!("create it with the URL of the agent, or set the URL with `{instead}`");
    Error::InvalidSetup(format!("{problem}: {advice}"))
}

/// Creates the error of an invalid URL.
pub(super) fn invalid_url_error(url: &str) -> Error {
    let problem = describe_invalid_url(url);
    let looks_like_path =
        !url.contains("://") && (url.starts_with(['.', '/', '~']) || url.ends_with(".json"));
    Error::InvalidSetup(match looks_like_path {
        true => format!("{problem}; for a card in a file, use a `Path` or `CardSource::File`"),
        false => problem,
    })
}
