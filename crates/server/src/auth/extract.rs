//! Bearer tokens and API keys in request headers.

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue};

use super::AuthError;

/// Header that contains an API key instead of `Authorization`.
const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// Maximum length of a token or key.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Returns the bearer token of a request, or `None` without an `Authorization` header.
///
/// # Errors
/// Returns [`AuthError::Malformed`] if the header is not a valid bearer token.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, AuthError> {
    let Some(value) = single_header(headers, &AUTHORIZATION)? else { return Ok(None) };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(AuthError::malformed("the Authorization header must use the Bearer scheme"));
    }
    Ok(Some(validate_token(token)?))
}

/// Returns the API key of a request from `Authorization` or `X-API-Key`, or `None` without either.
///
/// # Errors
/// Returns [`AuthError::Malformed`] if one of the headers is invalid, or if they differ.
pub(super) fn api_key(headers: &HeaderMap) -> Result<Option<&str>, AuthError> {
    let header_key = single_header(headers, &API_KEY_HEADER)?.map(validate_token).transpose()?;
    match (bearer_token(headers)?, header_key) {
        (Some(token), Some(header_key)) if token != header_key => Err(AuthError::malformed(
            "the Authorization and X-API-Key headers differ; send only one of them",
        )),
        (token, header_key) => Ok(token.or(header_key)),
    }
}

fn single_header<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, AuthError> {
    let mut values = headers.get_all(name).into_iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(AuthError::malformed(format!("the header {name} occurs more than once")));
    }
    let text = HeaderValue::to_str(value);
    text.map(Some)
        .map_err(|_| AuthError::malformed(format!("the header {name} is not visible ASCII")))
}

fn validate_token(token: &str) -> Result<&str, AuthError> {
    match token.trim() {
        "" => Err(AuthError::malformed("the token is empty")),
        token if token.len() > MAX_TOKEN_BYTES => {
            Err(AuthError::malformed(format!("the token is longer than {MAX_TOKEN_BYTES} bytes")))
        }
        token => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_token_is_rejected_with_reason() {
        let long = format!("Bearer {}", "x".repeat(MAX_TOKEN_BYTES + 1));
        for (name, value, want) in [
            ("authorization", "Bearer one", Ok("one")),
            ("authorization", "bEARER  two words ", Ok("two words")),
            ("x-api-key", " three ", Ok("three")),
            ("authorization", "Bearer", Err("empty")),
            ("authorization", "Bearer   ", Err("empty")),
            ("authorization", "", Err("Bearer scheme")),
            ("authorization", "Basic b25l", Err("Bearer scheme")),
            ("authorization", "one", Err("Bearer scheme")),
            ("authorization", &long, Err("longer than")),
            ("authorization", "Bearer \u{e9}", Err("not visible ASCII")),
            ("x-api-key", "", Err("empty")),
            ("x-api-key", "\u{e9}", Err("not visible ASCII")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            let result = api_key(&headers);
            match want {
                Ok(want) => assert_eq!(result.unwrap(), Some(want), "{value:?}"),
                Err(want) => {
                    let error = result.unwrap_err();
                    assert!(matches!(error, AuthError::Malformed(_)), "{value:?}: {error:?}");
                    assert!(error.to_string().contains(want), "{value:?}: {error}");
                }
            }
        }
        assert_eq!(api_key(&HeaderMap::new()).unwrap(), None);
    }

    #[test]
    fn repeated_or_conflicting_credentials_are_rejected() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, HeaderValue::from_static(value));
            }
            headers
        };
        let same = headers(&[("authorization", "Bearer a"), ("x-api-key", "a")]);
        assert_eq!(api_key(&same).unwrap(), Some("a"));
        for pairs in [
            [("authorization", "Bearer a"), ("x-api-key", "b")],
            [("authorization", "Bearer a"), ("authorization", "Bearer a")],
            [("x-api-key", "a"), ("x-api-key", "a")],
        ] {
            assert!(api_key(&headers(&pairs)).is_err(), "{pairs:?}");
        }
    }
}
