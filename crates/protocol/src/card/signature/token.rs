//! Tokens: claims that a key vouches for (JWT, RFC 7519).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{SignatureError, SigningKey, signing_input};

impl SigningKey {
    /// A token of these claims, which are an object. What they say is up to the caller.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign_jwt(&self, claims: &Value) -> Result<String, SignatureError> {
        let header = json!({"alg": self.algorithm().as_str(), "kid": self.kid(), "typ": "JWT"});
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let input = signing_input(&header, claims.to_string().as_bytes());
        let signature = self.sign(input.as_bytes())?;
        Ok(format!("{input}.{signature}"))
    }
}
