//! `[auth]` and `[tls]`.

use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::Secret;

use crate::config::section::{choice, section};

section! {
    /// Who may call, besides those with the `api_key`.
    pub(crate) Auth {
        /// Keys, each with a name. Callers show one as a bearer token or in the header `X-API-Key`,
        /// and whoever does is the caller `key:NAME`.
        keys: Vec<ApiKey>, section;
        /// Tokens of an identity provider. Whoever shows one is the caller `jwt:ISSUER#SUBJECT`.
        jwt: Jwt, section;
    }
}

section! {
    /// A key.
    pub(crate) ApiKey {
        /// Its name.
        name: String, required => "\"ci\"";
        /// Its SHA-256 digest, in hexadecimal digits: `latimer config hash-key` makes it.
        sha256: Secret, required => "\"e3b0c44298fc1c14…\"";
        /// What whoever shows it may do, for agents that ask for it.
        scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

section! {
    /// Tokens of an identity provider.
    pub(crate) Jwt {
        /// Who issues them: a URL, as it stands in the claim `iss`. Keys are found by OpenID Connect
        /// discovery. Without it, no tokens count.
        issuer: String, optional("no tokens count") => "\"https://login.example.com\"";
        /// For whom they are: one of these must stand in the claim `aud`.
        audience: Vec<String>, default("[]") => "[\"latimer\"]";
        /// Where the keys are.
        jwks_url: String, optional("discovery says it") => "\"https://login.example.com/keys\"";
        /// How they may be signed: any of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`,
        /// `ES256`, `ES384` and `EdDSA`.
        algorithms: Vec<String>, default("[\"RS256\", \"PS256\", \"ES256\", \"ES384\", \"EdDSA\"]") => "[\"ES256\"]";
        /// How far clocks may be apart.
        leeway: Duration, default("\"1m\"") => "\"10s\"";
        /// Scopes that each must have, in the claim `scope` or `scp`.
        scopes: Vec<String>, default("[]") => "[\"agents\"]";
        /// The claim that names the caller.
        principal_claim: String, default("\"sub\"") => "\"client_id\"";
        /// How long keys are used without asking for them again. One that is not known is asked for
        /// at once.
        keys_max_age: Duration, default("\"10m\"") => "\"1h\"";
    }
}

section! {
    /// Certificates: that of the server, and those that callers show.
    pub(crate) Tls {
        /// The certificate of the server, with those between it and its root, in PEM. It is read
        /// again when it changes. Without it, there is no TLS.
        certificate: PathBuf, optional("no TLS") => "\"/etc/latimer/server.pem\"";
        /// Its private key, in PEM.
        key: PathBuf, optional("none") => "\"/etc/latimer/server.key\"";
        /// Certificates of those who sign the certificates of callers, in PEM.
        client_ca: PathBuf, optional("callers show no certificates") => "\"/etc/latimer/callers.pem\"";
        /// Whether callers must show a certificate, or no connection comes about (`required`), or may
        /// be known in another way (`optional`).
        client_certificates: ClientCertificateMode, default("\"required\"") => "\"optional\"";
        /// What of a certificate names the caller: the subject (`cert:CN=alice,O=Example`), or the
        /// first alternative name of a kind (`cert:dns:alice.example`, `cert:uri:spiffe://…`,
        /// `cert:email:…`).
        client_name: CertificateName, default("\"subject\"") => "\"uri\"";
        /// What callers with certificates may do, for agents that ask for it.
        client_scopes: Vec<String>, default("[]") => "[\"deploy\"]";
    }
}

choice! {
    /// Whether callers must show certificates.
    pub(crate) ClientCertificateMode: "`required` or `optional`" {
        /// They must.
        Required,
        /// They may.
        Optional,
    }
}

choice! {
    /// What of a certificate names the caller.
    pub(crate) CertificateName: "`subject`, `dns`, `uri` or `email`" {
        /// The subject.
        Subject,
        /// A host.
        Dns,
        /// A URI.
        Uri,
        /// An address of e-mail.
        Email,
    }
}
