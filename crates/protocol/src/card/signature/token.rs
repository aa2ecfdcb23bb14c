//! Signed JSON Web Tokens (RFC 7519).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{SignatureError, SigningKey, signing_input};

impl SigningKey {
    /// Creates a signed JWT. `claims` must be an object; its content is not checked.
    ///
    /// # Errors
    /// Returns [`SignatureError::Signing`] if the key cannot sign.
    pub fn sign_jwt(&self, claims: &Value) -> Result<String, SignatureError> {
        let header = json!({"alg": self.algorithm().as_str(), "kid": self.kid(), "typ": "JWT"});
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let input = signing_input(&header, claims.to_string().as_bytes());
        let signature = self.sign(input.as_bytes())?;
        Ok(format!("{input}.{signature}"))
    }
}
