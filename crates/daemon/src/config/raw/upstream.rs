//! Keys of remote agents, wherever they are listed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use latimer_protocol::{Secret, Version};

use crate::config::section::{choice, section};
use crate::config::url::HttpUrl;

section! {
    /// An agent elsewhere, and how it is called.
    pub Upstream, checked {
        /// Where the agent is. Callers never see it.
        url: HttpUrl, required => "\"https://partner.example.com\"";
        /// Where its card is.
        card_url: HttpUrl, optional("the well-known places of `url`") => "\"https://cards.example.com/partner.json\"";
        /// Calls `url` itself, whatever address the card names: for agents that do not know their own.
        call_url: bool, default("false") => "true";
        /// A file with certificates, in PEM, that the agent may be vouched for by, beside those that the
        /// operating system trusts.
        root_certificates: PathBuf, optional("those of the system only") => "\"partner-ca.pem\"";
        /// The certificate that is shown to the agent.
        identity: ClientIdentity, flat;
        /// Headers that go with every call, to the origin of `url` only.
        headers: BTreeMap<String, Secret>, default("{}") => "{ X-Team = \"blue\" }";
        /// The token that goes with every call.
        auth: Token, flat;
        /// What an authorization server knows us as, to get tokens from it as the card of the agent
        /// says.
        oauth: OAuth, section;
        /// How long a call may take; a stream has no such limit.
        timeout: Duration, optional("2 minutes") => "\"30s\"";
        /// How long a stream may be silent before it is begun anew.
        idle_timeout: Duration, default("\"2m\"") => "\"30s\"";
        /// Whether the streams of the agent are used. Without, its tasks are looked at again and again;
        /// callers have streams all the same.
        stream: bool, default("true") => "false";
        /// Which of several agents at that address.
        tenant: String, optional("what its card says") => "\"blue\"";
        /// The version of A2A to speak.
        protocol_version: Version, optional("the newest that its card offers") => "\"0.3\"";
        /// The transport to speak.
        binding: Binding, optional("the first that its card offers") => "\"grpc\"";
        /// Whose cards are believed. `ignore` looks at no signature; with `if_signed`, what is signed
        /// must be signed by one of `trusted_keys`; `required` wants that of every card.
        signatures: SignaturePolicy, default("\"ignore\"") => "\"required\"";
        /// Files with the public keys that its card is signed with, as JWK, JWKS or PEM.
        trusted_keys: Vec<PathBuf>, default("[]") => "[\"partner.jwks.json\"]";
    }
}

section! {
    /// The certificate that is shown to an agent.
    pub ClientIdentity, checked {
        /// The file with the certificate that is shown to the agent, in PEM, at the origin of `url`
        /// only.
        client_certificate: PathBuf, optional("none") => "\"gateway.pem\"";
        /// The file with its key, in PEM. Both are read at the start.
        client_key: PathBuf, optional("none") => "\"gateway.key\"";
    }
}

section! {
    /// A bearer token, or where to find it.
    pub Token, checked {
        /// A bearer token that goes with every call, to the origin of `url` only. What callers show
        /// never does.
        auth_token: Secret, optional("none") => "\"s3cret\"";
        /// The variable of the environment that has the token.
        auth_token_env: String, optional("none") => "\"PARTNER_TOKEN\"";
        /// The file that has the token.
        auth_token_file: PathBuf, optional("none") => "\"/run/secrets/partner\"";
    }
}

section! {
    /// What an authorization server knows us as.
    pub OAuth, checked {
        /// Our name there.
        client_id: String, optional("no tokens are got") => "\"gateway\"";
        /// What proves it.
        client_secret: Secret, optional("none") => "\"s3cret\"";
        /// The variable of the environment that has it.
        client_secret_env: String, optional("none") => "\"PARTNER_SECRET\"";
        /// What to ask for.
        scopes: Vec<String>, default("[]") => "[\"agents\"]";
        /// Authorization servers that may be shown the secret, by any URL of theirs. One at the origin
        /// of the agent may be shown it without.
        servers: Vec<HttpUrl>, default("[]") => "[\"https://login.example.com\"]";
    }
}

choice! {
    /// A transport.
    pub Binding: "`jsonrpc`, `http_json` or `grpc`" {
        /// JSON-RPC.
        Jsonrpc,
        /// HTTP and JSON.
        HttpJson,
        /// gRPC.
        Grpc,
    }
}

choice! {
    /// Whose cards are believed.
    pub SignaturePolicy: "`ignore`, `if_signed` or `required`" {
        /// Everybody's.
        Ignore,
        /// What is signed must be signed by a trusted key.
        IfSigned,
        /// Everything must.
        Required,
    }
}
