//! Keys of remote agents, published or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::{Secret, Version};

use crate::config::section::{choice, section};
use crate::config::url::HttpUrl;

section! {
    /// A remote agent, and how to call it.
    pub Upstream, checked {
        /// URL of the remote agent. Its card is discovered below this URL. Callers never see it.
        url: HttpUrl, required => "\"https://partner.example.com\"";
        /// URL of the remote agent's card, if it is not below `url`. Credentials are sent to the
        /// origin of `url` only.
        card_url: HttpUrl, optional("the well-known paths below `url`") => "\"https://cards.example.com/partner.json\"";
        /// Whether to call the remote agent at `url` even if its card names another URL. Meant for
        /// agents that do not know their public URL. `false` refuses an agent whose card has no URL
        /// that may be called.
        call_url: bool, optional("only if no URL in the card may be called, with a warning") => "true";
        /// File with additional root certificates in PEM that may sign the remote agent's TLS
        /// certificate. The certificates of the operating system stay trusted.
        root_certificates: PathBuf, optional("only those of the operating system") => "\"partner-ca.pem\"";
        /// The client certificate for the remote agent.
        identity: ClientIdentity, flat;
        /// HTTP headers to send with every call to the remote agent. Sent to the origin of `url`
        /// only.
        headers: BTreeMap<String, Secret>, default("{}") => "{ X-Team = \"blue\" }";
        /// The bearer token for the remote agent.
        auth: TokenKeys, flat;
        /// OAuth client for obtaining tokens from the authorization server that the remote agent's
        /// card names.
        oauth: OAuthKeys, section;
        /// Time allowed for one call to the remote agent. Streams are limited by `idle_timeout`
        /// instead.
        timeout: Duration, optional("2 minutes") => "\"30s\"";
        /// How long a stream from the remote agent may be silent before the gateway reconnects.
        idle_timeout: Duration, default("\"2m\"") => "\"30s\"";
        /// Whether to receive results from the remote agent as streams. If `false`, its tasks are
        /// polled; callers can still stream.
        stream: bool, default("true") => "false";
        /// Tenant to select at the remote agent's URL.
        tenant: String, optional("the tenant in its card") => "\"blue\"";
        /// A2A version to speak with the remote agent: `1.0`, `0.3` or `0.1`.
        protocol_version: Version, optional("the newest version its card offers") => "\"0.3\"";
        /// Binding to use for calls to the remote agent.
        binding: Binding, optional("the first binding its card offers") => "\"grpc\"";
        /// How to verify the signatures of the remote agent's card: `ignore` verifies none,
        /// `if_signed` requires a signature by one of `trusted_keys` on signed cards, `required` on
        /// every card.
        signatures: SignaturePolicy, default("\"ignore\"") => "\"required\"";
        /// Files with the public keys that may sign the remote agent's card, as JWK, JWKS or PEM.
        /// Used only if `signatures` is not `ignore`.
        trusted_keys: Vec<PathBuf>, default("[]") => "[\"partner.jwks.json\"]";
    }
}

section! {
    /// Client certificate for a remote agent.
    pub ClientIdentity, checked {
        /// File with the client certificate chain in PEM, for remote agents that require mutual
        /// TLS. Sent to the origin of `url` only. Requires `client_key`.
        client_certificate: PathBuf, optional("none") => "\"gateway.pem\"";
        /// File with the private key of `client_certificate` in PEM. Both files are read at
        /// startup.
        client_key: PathBuf, optional("none") => "\"gateway.key\"";
    }
}

section! {
    /// Bearer token for a remote agent.
    pub TokenKeys, checked {
        /// Bearer token to send with every call to the remote agent. Sent to the origin of `url`
        /// only. Credentials of callers are never forwarded.
        auth_token: Secret, optional("none") => "\"s3cret\"";
        /// Environment variable that contains the bearer token for the remote agent. Ignored if
        /// `auth_token` is set.
        auth_token_env: String, optional("none") => "\"PARTNER_TOKEN\"";
        /// File that contains the bearer token for the remote agent. Read at startup; ignored if
        /// `auth_token` or `auth_token_env` provides a token.
        auth_token_file: PathBuf, optional("none") => "\"/run/secrets/partner\"";
    }
}

section! {
    /// OAuth client of a remote agent.
    pub OAuthKeys, checked {
        /// OAuth client id used to obtain tokens for this agent.
        client_id: String, optional("OAuth is not used") => "\"gateway\"";
        /// OAuth client secret. Sent only to authorization servers listed in `servers` or at the
        /// agent's own origin.
        client_secret: Secret, optional("none: a public client") => "\"s3cret\"";
        /// Environment variable that contains the OAuth client secret. Ignored if `client_secret`
        /// is set.
        client_secret_env: String, optional("none") => "\"PARTNER_SECRET\"";
        /// OAuth scopes to request.
        scopes: Vec<String>, default("[]") => "[\"agents\"]";
        /// URLs of authorization servers that may receive the client secret; the origin is what
        /// counts. A server at the agent's own origin needs no entry.
        servers: Vec<HttpUrl>, default("[]") => "[\"https://login.example.com\"]";
    }
}

choice! {
    /// Binding for calls to a remote agent.
    pub Binding: "`jsonrpc`, `http_json` or `grpc`" {
        /// JSON-RPC.
        Jsonrpc,
        /// HTTP+JSON.
        HttpJson,
        /// gRPC.
        Grpc,
    }
}

choice! {
    /// How card signatures are verified.
    pub SignaturePolicy: "`ignore`, `if_signed` or `required`" {
        /// Signatures are not verified.
        Ignore,
        /// A signed card needs a signature by a trusted key.
        IfSigned,
        /// Every card needs a signature by a trusted key.
        Required,
    }
}
