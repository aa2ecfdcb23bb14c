//! Fake identity provider on loopback, with real keys.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use http::StatusCode;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use latimer_server::JwtSettings;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(super) const AUDIENCE: &str = "latimer";

/// Signing key with a key id.
#[derive(Clone)]
pub(super) struct TestKey {
    pub(super) kid: &'static str,
    algorithm: Algorithm,
    private: EncodingKey,
    public: Value,
}

/// Shared RSA key, because generating one is slow.
static RSA: LazyLock<EncodingKey> = LazyLock::new(|| {
    let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap()
});

impl TestKey {
    pub(super) fn rsa(kid: &'static str) -> Self {
        Self::from_private(kid, Algorithm::RS256, RSA.clone())
    }

    pub(super) fn elliptic(kid: &'static str) -> Self {
        let pem = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
        let private = EncodingKey::from_ec_pem(pem.as_bytes()).unwrap();
        Self::from_private(kid, Algorithm::ES256, private)
    }

    pub(super) fn edwards(kid: &'static str) -> Self {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let private = EncodingKey::from_ed_pem(pair.serialize_pem().as_bytes()).unwrap();
        let point = URL_SAFE_NO_PAD.encode(pair.public_key_raw());
        let public = json!({"kty": "OKP", "crv": "Ed25519", "x": point, "kid": kid, "use": "sig"});
        Self { kid, algorithm: Algorithm::EdDSA, private, public }
    }

    fn from_private(kid: &'static str, algorithm: Algorithm, private: EncodingKey) -> Self {
        let mut public = Jwk::from_encoding_key(&private, algorithm).unwrap();
        public.common.key_id = Some(kid.to_owned());
        Self { kid, algorithm, private, public: json!(public) }
    }

    pub(super) fn header(&self) -> Header {
        Header { kid: Some(self.kid.to_owned()), ..Header::new(self.algorithm) }
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_as(&self.header(), claims)
    }

    pub(super) fn sign_as(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.private).unwrap()
    }

    /// Returns the public key as a JWK.
    pub(super) fn public(&self) -> &Value {
        &self.public
    }
}

/// Identity provider that runs until it is dropped.
pub(super) struct FakeProvider {
    address: SocketAddr,
    state: Arc<State>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct State {
    keys: Mutex<Value>,
    issuer: Mutex<String>,
    key_requests: AtomicUsize,
    is_down: AtomicBool,
}

impl FakeProvider {
    pub(super) async fn with_keys(keys: &[&TestKey]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let (discovery_state, keys_state) = (state.clone(), state.clone());
        let discovery = move || {
            let issuer = discovery_state.issuer.lock().unwrap().clone();
            let keys = format!("http://{address}/keys");
            async move { Json(json!({"issuer": issuer, "jwks_uri": keys})) }
        };
        let keys_endpoint = move || {
            keys_state.key_requests.fetch_add(1, Ordering::SeqCst);
            let keys = keys_state.keys.lock().unwrap().clone();
            let is_down = keys_state.is_down.load(Ordering::SeqCst);
            let status = if is_down { StatusCode::BAD_GATEWAY } else { StatusCode::OK };
            async move { (status, Json(keys)) }
        };
        let routes = Router::new()
            .route("/realm/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys_endpoint));
        let serve = async move { axum::serve(listener, routes).await.unwrap() };
        let mut server = JoinSet::new();
        server.spawn(serve);
        let provider = Self { address, state, _server: server };
        provider.publish(keys);
        provider.set_issuer(&provider.issuer());
        provider
    }

    pub(super) fn issuer(&self) -> String {
        format!("http://{}/realm", self.address)
    }

    pub(super) fn settings(&self) -> JwtSettings {
        JwtSettings::new(self.issuer(), AUDIENCE)
    }

    /// Returns the claims of a valid token.
    pub(super) fn valid_claims(&self) -> Value {
        json!({"iss": self.issuer(), "aud": AUDIENCE, "sub": "alice", "exp": now() + 300})
    }

    /// Publishes these keys and some unusable ones.
    pub(super) fn publish(&self, keys: &[&TestKey]) {
        let mut keys: Vec<_> = keys.iter().map(|it| it.public().clone()).collect();
        keys.push(json!({"kty": "oct", "kid": "secret", "k": "c2VjcmV0"}));
        keys.push(json!({"kty": "new", "kid": "strange"}));
        keys.push(json!("no key at all"));
        *self.state.keys.lock().unwrap() = json!({"keys": keys});
    }

    pub(super) fn set_issuer(&self, issuer: &str) {
        *self.state.issuer.lock().unwrap() = issuer.to_owned();
    }

    pub(super) fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Returns the number of requests for the keys.
    pub(super) fn key_requests(&self) -> usize {
        self.state.key_requests.load(Ordering::SeqCst)
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
