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

use crate::agents::apply_card_config;
use crate::config::{
    AgentConfig, CardConfig, Config, OAuthConfig, Serving, SignaturePolicy, UpstreamConfig,
};
use crate::error::StartError;
use crate::signing;

/// The agent, which is looked for as soon as it is served.
pub(crate) fn build_remote_agent(
    agent: &AgentConfig,
    upstream: &UpstreamConfig,
) -> Result<Agent, StartError> {
    let (card, streaming) = (agent.card.clone(), agent.streaming);
    let remote = build_remote(&agent.name, upstream)?;
    let remote =
        remote.map_card(move |upstream_card| override_card(upstream_card, &card, streaming));
    Ok(remote.into_agent(&agent.name))
}

/// Agents that are looked for, and not published, by their names.
pub(crate) fn build_unpublished(config: &Config) -> Result<Vec<(&str, RemoteAgent)>, StartError> {
    let remote_agents = config.remote_agents.iter().filter(|_| config.serving != Serving::Disabled);
    remote_agents.map(|it| Ok((&*it.name, build_remote(&it.name, &it.upstream)?))).collect()
}

fn build_remote(name: &str, upstream: &UpstreamConfig) -> Result<RemoteAgent, StartError> {
    let (upstream, files) = (upstream.clone(), UpstreamFiles::read(name, upstream)?);
    let source = match &upstream.card_url {
        Some(url) => CardSource::CardUrl(url.clone()),
        None => upstream.url.as_str().into(),
    };
    let upstream_error = |source| StartError::Upstream { agent: name.to_owned(), source };
    // Whether it can be set up at all is known now, and told now.
    let builder =
        configure_client(latimer_client::Client::builder(source.clone()), &upstream, &files);
    builder.and_then(|it| it.check()).map_err(upstream_error)?;
    let remote = RemoteAgent::new(source).redact_host(&upstream.url).max_hops(upstream.max_hops);
    let remote = remote.forward_caller(upstream.forward_user);
    Ok(remote.configure_client(move |builder| configure_client(builder, &upstream, &files)))
}

/// Says what the configuration says in place of what the agent does.
fn override_card(
    agent_card: &mut latimer_protocol::card::AgentCard,
    card_config: &CardConfig,
    streaming: bool,
) {
    apply_card_config(agent_card, card_config);
    agent_card.capabilities.streaming = Some(streaming);
}

fn configure_client(
    client: ClientBuilder,
    upstream: &UpstreamConfig,
    files: &UpstreamFiles,
) -> Result<ClientBuilder, Error> {
    let limits = CallLimits {
        timeout: upstream.timeout,
        idle_timeout: upstream.idle_timeout,
        ..CallLimits::default()
    };
    let mut client = client.limits(limits).trust(files.trust.clone());
    client = client.versions(
        upstream
            .version
            .map_or_else(|| latimer_protocol::Version::ALL.to_vec(), |version| vec![version]),
    );
    if let Some(binding) = &upstream.binding {
        client = client.bindings([binding.clone()]);
    }
    if upstream.card_url.is_some() {
        client = client.agent_url(&upstream.url);
    }
    if upstream.ignore_card_urls {
        client = client.ignore_card_urls();
    }
    if !upstream.use_streams {
        client = client.disable_streaming();
    }
    if let Some(name) = &upstream.user_agent {
        client = client.user_agent(name.clone());
    }
    if let Some(tenant) = &upstream.tenant {
        client = client.tenant(tenant);
    }
    add_credentials(client, upstream, files)
}

/// Says who we are to the agent: at the origin of `url`, and nowhere else.
fn add_credentials(
    mut client: ClientBuilder,
    upstream: &UpstreamConfig,
    files: &UpstreamFiles,
) -> Result<ClientBuilder, Error> {
    if let Some(pem) = &files.root_certificates {
        client = client.root_certificates(pem.clone());
    }
    if let Some((certificate, key)) = &files.identity {
        client = client.client_certificate_for(&upstream.url, certificate.clone(), key.reveal());
    }
    if !upstream.headers.is_empty() {
        client = client.credentials_for(&upstream.url, Credentials::headers(&headers(upstream)?));
    }
    if let Some(token) = &files.token {
        client = client.credentials_for(&upstream.url, Credentials::bearer(token.clone())?);
    }
    if let Some(OAuthConfig { client_id, client_secret, scopes, trusted_servers: servers }) =
        upstream.oauth.clone()
    {
        let oauth_client =
            OAuthClient { client_id, client_secret, scopes, trusted_servers: servers };
        let credential_set =
            CredentialSet { oauth_client: Some(oauth_client), ..CredentialSet::default() };
        client = client.credential_set_for(&upstream.url, credential_set);
    }
    Ok(client)
}

fn headers(upstream: &UpstreamConfig) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in &upstream.headers {
        let invalid = |problem| Error::InvalidSetup(format!("`headers`: {name:?} {problem}"));
        let header =
            HeaderName::try_from(name).map_err(|_| invalid("is not the name of a header"))?;
        let value = HeaderValue::try_from(value.reveal());
        headers.insert(header, value.map_err(|_| invalid("has a value that no header can carry"))?);
    }
    Ok(headers)
}

/// What the files have that the configuration names.
struct UpstreamFiles {
    token: Option<Secret>,
    trust: CardTrust,
    root_certificates: Option<String>,
    /// The certificate and its key.
    identity: Option<(String, Secret)>,
}

impl UpstreamFiles {
    fn read(agent: &str, upstream: &UpstreamConfig) -> Result<Self, StartError> {
        let read = |path: &PathBuf| {
            let read_error = |source| {
                let (agent, path) = (agent.to_owned(), path.clone());
                StartError::UpstreamFile { agent, path, source }
            };
            fs::read_to_string(path).map_err(read_error)
        };
        let token = match (&upstream.token, &upstream.token_file) {
            (None, Some(path)) => Some(Secret::new(read(path)?.trim_end())),
            (token, _) => token.clone(),
        };
        let identity = upstream.identity.as_ref();
        let identity = identity.map(|it| Ok((read(&it.certificate)?, Secret::new(read(&it.key)?))));
        Ok(Self {
            token,
            trust: card_trust(upstream)?,
            root_certificates: upstream.root_certificates.as_ref().map(read).transpose()?,
            identity: identity.transpose()?,
        })
    }
}

fn card_trust(upstream: &UpstreamConfig) -> Result<CardTrust, StartError> {
    let mut keys = KeySet::default();
    for path in &upstream.trusted_keys {
        let key_set = signing::read_key_file(path, KeySet::read)?;
        key_set.iter().for_each(|it| keys.insert(it.clone()));
    }
    Ok(match upstream.signature_policy {
        SignaturePolicy::Ignore => CardTrust::Unverified,
        SignaturePolicy::IfSigned => CardTrust::IfSigned(keys),
        SignaturePolicy::Required => CardTrust::Required(keys),
    })
}
