//! `[auth]` and `[tls]`.

use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::Secret;

use crate::config::section::{choice, section};

section! {
    /// Clients that may call the agents, in addition to those with the `api_key`.
    pub(crate) Auth {
        /// API keys with a name each. Clients send one as a bearer token or in `X-API-Key`, which
        /// grants the principal `key:NAME`.
        keys: Vec<ApiKey>, section;
        /// Tokens of an OpenID Connect or OAuth provider, which clients send as bearer tokens. A
        /// valid token grants the principal `jwt:ISSUER#SUBJECT`.
        jwt: Jwt, section;
    }
}

section! {
    /// An API key with a name.
    pub(crate) ApiKey {
        /// Name of the key, unique. It is part of the principal `key:NAME`.
        name: String, required => "\"ci\"";
        /// SHA-256 digest of the key, 64 hexadecimal digits. `latimer config hash-key` computes it.
        sha256: Secret, required => "\"e3b0c44298fc1c14…\"";
        /// Scopes that the key grants, for agents that require scopes.
        scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

section! {
    /// Tokens of an OpenID Connect or OAuth provider.
    pub(crate) Jwt {
        /// URL of the token issuer, as in the claim `iss`. Its keys are located by OpenID Connect
        /// discovery unless `jwks_url` is set.
        issuer: String, optional("tokens are not accepted") => "\"https://login.example.com\"";
        /// Accepted values of the claim `aud`; a token needs one of them. At least one is required
        /// if `issuer` is set.
        audience: Vec<String>, default("[]") => "[\"latimer\"]";
        /// URL of the issuer's keys, as JWKS.
        jwks_url: String, optional("located by discovery") => "\"https://login.example.com/keys\"";
        /// Accepted signature algorithms of tokens: any of `RS256`, `RS384`, `RS512`, `PS256`,
        /// `PS384`, `PS512`, `ES256`, `ES384` and `EdDSA`.
        algorithms: Vec<String>, default("[\"RS256\", \"PS256\", \"ES256\", \"ES384\", \"EdDSA\"]") => "[\"ES256\"]";
        /// Tolerated difference between the clocks of the server and the token issuer.
        leeway: Duration, default("\"1m\"") => "\"10s\"";
        /// Scopes that every token needs, in the claim `scope` or `scp`.
        scopes: Vec<String>, default("[]") => "[\"agents\"]";
        /// Claim that contains the subject part of the principal.
        principal_claim: String, default("\"sub\"") => "\"client_id\"";
        /// How long the issuer's keys are cached. A token signed with an unknown key triggers an
        /// earlier refresh.
        keys_max_age: Duration, default("\"10m\"") => "\"1h\"";
        /// How much longer cached keys are used while the issuer cannot be reached. Afterwards tokens
        /// are rejected until it responds.
        jwks_max_stale: Duration, default("\"1d\"") => "\"2h\"";
    }
}

section! {
    /// TLS of the server, and certificates of clients.
    pub(crate) Tls {
        /// File with the server's certificate chain in PEM, which enables TLS. It is reloaded when
        /// it changes. Requires `key`.
        certificate: PathBuf, optional("TLS is disabled") => "\"/etc/latimer/server.pem\"";
        /// File with the private key of `certificate` in PEM.
        key: PathBuf, optional("none") => "\"/etc/latimer/server.key\"";
        /// File with the certificates in PEM that client certificates must be signed by. Enables
        /// client certificates; requires `certificate` and `key`.
        client_ca: PathBuf, optional("client certificates are not accepted") => "\"/etc/latimer/callers.pem\"";
        /// Whether clients must present a certificate: `required` refuses connections without one,
        /// `optional` lets clients authenticate in another way. Used only with `client_ca`.
        client_certificates: ClientCertificateMode, default("\"required\"") => "\"optional\"";
        /// Part of a client certificate that becomes the principal: the subject
        /// (`cert:CN=alice,O=Example`), or the first alternative name of a type
        /// (`cert:dns:alice.example`, `cert:uri:spiffe://…`, `cert:email:…`).
        client_name: CertificateName, default("\"subject\"") => "\"uri\"";
        /// Scopes that every client certificate grants, for agents that require scopes.
        client_scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

choice! {
    /// Whether clients must present a certificate.
    pub(crate) ClientCertificateMode: "`required` or `optional`" {
        /// Connections without a certificate are refused.
        Required,
        /// Clients may authenticate in another way.
        Optional,
    }
}

choice! {
    /// Part of a client certificate that becomes the principal.
    pub(crate) CertificateName: "`subject`, `dns`, `uri` or `email`" {
        /// The subject.
        Subject,
        /// The first DNS name.
        Dns,
        /// The first URI.
        Uri,
        /// The first email address.
        Email,
    }
}
