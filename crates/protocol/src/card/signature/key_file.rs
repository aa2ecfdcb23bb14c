//! Keys from files in PEM or JWK format.

use jsonwebtoken::jwk::{Jwk as LibraryJwk, ThumbprintHash};
use serde_json::{Value, json};

use super::key::{InvalidKey, KeySet, SigningKey, VerifyingKey};

impl SigningKey {
    /// Reads a private key from the content of a file: PEM or a JWK. A key without a `kid` gets its
    /// thumbprint (RFC 7638) as key id.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if the content is not a supported private key.
    pub fn read(text: &str) -> Result<Self, InvalidKey> {
        if is_pem(text) {
            let unnamed = Self::from_pem("", text)?;
            let kid = unnamed.verifying_key()?.thumbprint()?;
            return Ok(unnamed.with_kid(kid));
        }
        let mut jwk = parse(text)?;
        if jwk.get("kid").is_none() {
            jwk["kid"] = json!(VerifyingKey::from_jwk(&jwk)?.thumbprint()?);
        }
        Self::from_jwk(&jwk)
    }
}

impl VerifyingKey {
    /// Computes the SHA-256 thumbprint of the key (RFC 7638), base64url-encoded. It does not depend
    /// on the key id.
    ///
    /// # Errors
    /// Returns [`InvalidKey::Malformed`] if the key cannot be encoded.
    pub fn thumbprint(&self) -> Result<String, InvalidKey> {
        let jwk: LibraryJwk =
            serde_json::from_value(self.to_jwk()?).map_err(|_| InvalidKey::Malformed)?;
        jwk.thumbprint(ThumbprintHash::SHA256).map_err(|_| InvalidKey::Malformed)
    }
}

impl KeySet {
    /// Reads public keys from the content of a file: PEM, a JWK or a JWK set. Private keys are
    /// converted to public keys. A key without a `kid` gets its thumbprint (RFC 7638) as key id.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if the content has no supported key.
    pub fn read(text: &str) -> Result<Self, InvalidKey> {
        if is_pem(text) && text.contains("PRIVATE KEY-----") {
            return Ok(Self::from([SigningKey::read(text)?.verifying_key()?]));
        }
        let keys = match is_pem(text) {
            true => Self::from([VerifyingKey::from_pem(text)?]),
            false => {
                let value = parse(text)?;
                match value.get("keys") {
                    Some(_) => Self::from_jwks(&value)?,
                    None => Self::from([VerifyingKey::from_jwk(&value)?]),
                }
            }
        };
        if keys.is_empty() {
            return Err(InvalidKey::Unsupported);
        }
        keys.iter().cloned().map(with_default_kid).collect()
    }

    /// Converts the keys to a JWK set (RFC 7517) for publication.
    ///
    /// # Errors
    /// Returns [`InvalidKey::Malformed`] if a key cannot be encoded.
    pub fn to_jwks(&self) -> Result<Value, InvalidKey> {
        let keys = self.iter().map(VerifyingKey::to_jwk).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({ "keys": keys }))
    }
}

fn with_default_kid(key: VerifyingKey) -> Result<VerifyingKey, InvalidKey> {
    match key.kid() {
        Some(_) => Ok(key),
        None => {
            let kid = key.thumbprint()?;
            Ok(key.with_kid(kid))
        }
    }
}

fn is_pem(text: &str) -> bool {
    text.trim_start().starts_with("-----BEGIN ")
}

fn parse(text: &str) -> Result<Value, InvalidKey> {
    serde_json::from_str(text).ok().filter(Value::is_object).ok_or(InvalidKey::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key of RFC 8037, appendix A, which also lists the thumbprint.
    const PRIVATE: &str = r#"{"kty":"OKP","crv":"Ed25519",
        "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    const PUBLIC: &str =
        r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    const PEM: &str = "\n-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
        -----END PRIVATE KEY-----\n";
    const THUMBPRINT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

    #[test]
    fn key_without_kid_is_named_by_its_thumbprint() {
        let jwk_with_kid = PRIVATE.replace("\"kty\"", "\"kid\":\"mine\",\"kty\"");
        for (text, want) in [(PRIVATE, THUMBPRINT), (PEM, THUMBPRINT), (&jwk_with_kid, "mine")] {
            assert_eq!(SigningKey::read(text).unwrap().kid(), want, "{text}");
            let keys = KeySet::read(text).unwrap();
            assert_eq!(keys.iter().map(VerifyingKey::kid).collect::<Vec<_>>(), [Some(want)]);
        }
        let public = KeySet::read(PUBLIC).unwrap();
        let set = KeySet::read(&format!(r#"{{"keys":[{PUBLIC},{{"kty":"oct"}}]}}"#)).unwrap();
        for keys in [public, set] {
            let jwks = keys.to_jwks().unwrap();
            assert_eq!(jwks["keys"].as_array().unwrap().len(), 1);
            assert_eq!(jwks["keys"][0]["kid"], THUMBPRINT);
        }
    }

    #[test]
    fn published_jwks_have_no_private_members() {
        for text in [PRIVATE, PEM] {
            let jwks = KeySet::read(text).unwrap().to_jwks().unwrap();
            assert!(jwks["keys"][0].get("d").is_none(), "{jwks}");
        }
    }

    #[test]
    fn invalid_key_input_is_rejected() {
        for text in ["", "[]", "{}", "\"x\"", "-----BEGIN NOTHING-----", r#"{"keys":[]}"#] {
            assert!(SigningKey::read(text).is_err(), "{text}");
            assert!(KeySet::read(text).is_err(), "{text}");
        }
        assert_eq!(SigningKey::read(PUBLIC).unwrap_err(), InvalidKey::NotPrivate);
    }
}
