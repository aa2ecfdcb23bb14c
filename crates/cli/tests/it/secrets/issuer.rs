//! Stub identity provider.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};

pub(super) const AUDIENCE: &str = "latimer";

/// Id of the signing key.
const KEY_ID: &str = "one";

/// Identity provider that runs until the test process exits.
pub(super) struct Issuer {
    address: SocketAddr,
    key: EncodingKey,
}

impl Issuer {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let key = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        let mut public = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
        public.common.key_id = Some(KEY_ID.to_owned());
        let keys = format!("http://{address}/keys");
        let metadata = json!({"issuer": format!("http://{address}"), "jwks_uri": keys});
        let keys = json!({"keys": [public]});
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client may have closed the connection.
                respond(stream, &metadata, &keys).ok();
            }
        });
        Self { address, key }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Creates a token that expires after this number of seconds.
    pub(super) fn token(&self, audience: &str, subject: &str, seconds: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let expires = i64::try_from(now).unwrap() + seconds;
        let claims = json!({"iss": self.url(), "aud": audience, "sub": subject, "exp": expires});
        let header = Header { kid: Some(KEY_ID.to_owned()), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims, &self.key).unwrap()
    }
}

fn respond(stream: TcpStream, metadata: &Value, keys: &Value) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let body = if line.contains(" /keys ") { keys } else { metadata }.to_string();
    while line.trim_end() != "" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let length = body.len();
    let mut stream = reader.into_inner();
    write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}
