//! Makes an agent of one that is elsewhere, or looks for it only.

use std::fs;
use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue};
use latimer_client::credentials::oauth::OAuthClient;
use latimer_client::transport::CallLimits;
use latimer_client::{CardSource, CardTrust, ClientBuilder, CredentialSet, Credentials, Error};
use latimer_protocol::Secret;
use latimer_protocol::card::KeySet;
use latimer_runtime::RemoteAgent;
use latimer_server::Agent;

use crate::agents::describe;
use crate::config::{
    AgentConfig, CardConfig, Config, OAuthConfig, Serving, Signatures, UpstreamConfig,
};
use crate::error::StartError;
use crate::signing;

/// The agent, which is looked for as soon as it is served.
pub(crate) fn remote(agent: &AgentConfig, said: &UpstreamConfig) -> Result<Agent, StartError> {
    let (card, streaming) = (agent.card.clone(), agent.streaming);
    let remote = elsewhere(&agent.name, said)?;
    let remote = remote.map_card(move |found| complete(found, &card, streaming));
    Ok(remote.into_agent(&agent.name))
}

/// Agents that are looked for, and not published, by their names.
pub(crate) fn external(config: &Config) -> Result<Vec<(&str, RemoteAgent)>, StartError> {
    let listed = config.remote_agents.iter().filter(|_| config.serving != Serving::Disabled);
    listed.map(|it| Ok((&*it.name, elsewhere(&it.name, &it.upstream)?))).collect()
}

fn elsewhere(name: &str, said: &UpstreamConfig) -> Result<RemoteAgent, StartError> {
    let (said, files) = (said.clone(), Files::read(name, said)?);
    let source = match &said.card_url {
        Some(url) => CardSource::CardUrl(url.clone()),
        None => said.url.as_str().into(),
    };
    let wrong = |source| StartError::Upstream { agent: name.to_owned(), source };
    // Whether it can be set up at all is known now, and told now.
    let builder = set_up(latimer_client::Client::builder(source.clone()), &said, &files);
    builder.and_then(|it| it.check()).map_err(wrong)?;
    let remote = RemoteAgent::new(source).redact_host(&said.url).max_hops(said.hops);
    let remote = remote.forward_caller(said.forward_user);
    Ok(remote.configure_client(move |builder| set_up(builder, &said, &files)))
}

/// Says what the configuration says in place of what the agent does.
fn complete(found: &mut latimer_protocol::card::AgentCard, card: &CardConfig, streaming: bool) {
    describe(found, card);
    found.capabilities.streaming = Some(streaming);
}

fn set_up(
    client: ClientBuilder,
    said: &UpstreamConfig,
    files: &Files,
) -> Result<ClientBuilder, Error> {
    let limits =
        CallLimits { timeout: said.timeout, idle_timeout: said.idle, ..CallLimits::default() };
    let mut client = client.limits(limits).trust(files.trust.clone());
    client = client.versions(
        said.version
            .map_or_else(|| latimer_protocol::Version::ALL.to_vec(), |version| vec![version]),
    );
    if let Some(binding) = &said.binding {
        client = client.bindings([binding.clone()]);
    }
    if said.card_url.is_some() {
        client = client.agent_url(&said.url);
    }
    if said.call_url {
        client = client.ignore_card_urls();
    }
    if !said.stream {
        client = client.disable_streaming();
    }
    if let Some(name) = &said.user_agent {
        client = client.user_agent(name.clone());
    }
    if let Some(tenant) = &said.tenant {
        client = client.tenant(tenant);
    }
    showing(client, said, files)
}

/// Says who we are to the agent: at the origin of `url`, and nowhere else.
fn showing(
    mut client: ClientBuilder,
    said: &UpstreamConfig,
    files: &Files,
) -> Result<ClientBuilder, Error> {
    if let Some(pem) = &files.roots {
        client = client.root_certificates(pem.clone());
    }
    if let Some((certificate, key)) = &files.identity {
        client = client.client_certificate_for(&said.url, certificate.clone(), key.reveal());
    }
    if !said.headers.is_empty() {
        client = client.credentials_for(&said.url, Credentials::headers(&headers(said)?));
    }
    if let Some(token) = &files.token {
        client = client.credentials_for(&said.url, Credentials::bearer(token.clone())?);
    }
    if let Some(OAuthConfig { client_id, client_secret, scopes, servers }) = said.oauth.clone() {
        let known = OAuthClient { client_id, client_secret, scopes, trusted_servers: servers };
        let wallet = CredentialSet { oauth_client: Some(known), ..CredentialSet::default() };
        client = client.credential_set_for(&said.url, wallet);
    }
    Ok(client)
}

fn headers(said: &UpstreamConfig) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in &said.headers {
        let wrong = |what| Error::InvalidSetup(format!("`headers`: {name:?} {what}"));
        let header =
            HeaderName::try_from(name).map_err(|_| wrong("is not the name of a header"))?;
        let value = HeaderValue::try_from(value.reveal());
        headers.insert(header, value.map_err(|_| wrong("has a value that no header can carry"))?);
    }
    Ok(headers)
}

/// What the files have that the configuration names.
struct Files {
    token: Option<Secret>,
    trust: CardTrust,
    roots: Option<String>,
    /// The certificate and its key.
    identity: Option<(String, Secret)>,
}

impl Files {
    fn read(agent: &str, said: &UpstreamConfig) -> Result<Self, StartError> {
        let read = |path: &PathBuf| {
            let failed = |source| {
                let (agent, path) = (agent.to_owned(), path.clone());
                StartError::UpstreamFile { agent, path, source }
            };
            fs::read_to_string(path).map_err(failed)
        };
        let token = match (&said.token, &said.token_file) {
            (None, Some(path)) => Some(Secret::new(read(path)?.trim_end())),
            (token, _) => token.clone(),
        };
        let identity = said.identity.as_ref();
        let identity = identity.map(|it| Ok((read(&it.certificate)?, Secret::new(read(&it.key)?))));
        Ok(Self {
            token,
            trust: trust(said)?,
            roots: said.root_certificates.as_ref().map(read).transpose()?,
            identity: identity.transpose()?,
        })
    }
}

fn trust(said: &UpstreamConfig) -> Result<CardTrust, StartError> {
    let mut keys = KeySet::default();
    for path in &said.trusted_keys {
        let more = signing::read(path, KeySet::read)?;
        more.iter().for_each(|it| keys.insert(it.clone()));
    }
    Ok(match said.signatures {
        Signatures::Ignore => CardTrust::Unverified,
        Signatures::IfSigned => CardTrust::IfSigned(keys),
        Signatures::Required => CardTrust::Required(keys),
    })
}
