//! Builds remote agents, published or not.

use std::fs;
use std::path::Path;
use std::time::Duration;

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
    A2aKeys, AgentConfig, CardConfig, Config, ServingMode, SignaturePolicy, Upstream,
};
use crate::error::StartError;
use crate::signing;

/// Time allowed for a call to a remote agent if its configuration has no `timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Builds an agent that publishes a remote agent. Discovery starts when it is served.
pub(crate) fn build_remote_agent(
    agent: &AgentConfig,
    keys: &A2aKeys,
    config: &Config,
) -> Result<Agent, StartError> {
    let (card, streaming) = (agent.card.clone(), agent.streaming);
    let remote = build_remote(&agent.name, &keys.upstream, config)?;
    let remote = remote.max_hops(keys.hops).forward_caller(keys.forward_user);
    let remote =
        remote.map_card(move |upstream_card| override_card(upstream_card, &card, streaming));
    Ok(remote.into_agent(&agent.name))
}

/// Builds the remote agents that are discovered and not published, with their names. Empty if A2A
/// is disabled.
pub(crate) fn build_unpublished_agents(
    config: &Config,
) -> Result<Vec<(&str, RemoteAgent)>, StartError> {
    let remote_agents =
        config.remote_agents.iter().filter(|_| config.serving != ServingMode::Disabled);
    remote_agents.map(|it| Ok((&*it.name, build_remote(&it.name, &it.upstream, config)?))).collect()
}

fn build_remote(
    name: &str,
    upstream: &Upstream,
    config: &Config,
) -> Result<RemoteAgent, StartError> {
    let (upstream, files) = (upstream.clone(), UpstreamFiles::read(name, upstream)?);
    let user_agent = config.user_agent.clone();
    let source = match &upstream.card_url {
        Some(url) => CardSource::CardUrl(url.as_str().to_owned()),
        None => upstream.url.as_str().into(),
    };
    let upstream_error = |source| StartError::Upstream { agent: name.to_owned(), source };
    let remote = RemoteAgent::new(source.clone()).redact_host(upstream.url.as_str());
    let configure = move |client: ClientBuilder| {
        let client = match &user_agent {
            Some(name) => client.user_agent(name.clone()),
            None => client,
        };
        configure_client(client, &upstream, &files)
    };
    // Reports invalid settings at startup instead of at discovery.
    let builder = configure(latimer_client::Client::builder(source));
    builder.and_then(|it| it.check()).map_err(upstream_error)?;
    Ok(remote.configure_client(configure))
}

/// Replaces members of the upstream card by those that the configuration sets.
fn override_card(
    agent_card: &mut latimer_protocol::card::AgentCard,
    card_config: &CardConfig,
    streaming: bool,
) {
    apply_card_config(agent_card, card_config);
    agent_card.capabilities.streaming = Some(streaming);
}

/// Configures the client of a remote agent. Every key of [`Upstream`] is used here, in
/// [`add_credentials`] or in [`UpstreamFiles`].
fn configure_client(
    client: ClientBuilder,
    upstream: &Upstream,
    files: &UpstreamFiles,
) -> Result<ClientBuilder, Error> {
    let limits = CallLimits {
        timeout: upstream.timeout.unwrap_or(DEFAULT_TIMEOUT),
        idle_timeout: upstream.idle_timeout,
        ..CallLimits::default()
    };
    let mut client = client.limits(limits).trust(files.trust.clone());
    client = client.versions(
        upstream
            .protocol_version
            .map_or_else(|| latimer_protocol::Version::ALL.to_vec(), |version| vec![version]),
    );
    if let Some(binding) = upstream.binding {
        client = client.bindings([binding.into()]);
    }
    if upstream.card_url.is_some() {
        client = client.agent_url(upstream.url.as_str());
    }
    client = match upstream.call_url {
        Some(true) => client.ignore_card_urls(),
        Some(false) => client,
        None => client.fall_back_to_agent_url(),
    };
    if !upstream.stream {
        client = client.disable_streaming();
    }
    if let Some(tenant) = &upstream.tenant {
        client = client.tenant(tenant);
    }
    add_credentials(client, upstream, files)
}

/// Adds the certificates and credentials, which are sent to the origin of `url` only.
fn add_credentials(
    mut client: ClientBuilder,
    upstream: &Upstream,
    files: &UpstreamFiles,
) -> Result<ClientBuilder, Error> {
    let url = upstream.url.as_str();
    if let Some(pem) = &files.root_certificates {
        client = client.root_certificates(pem.clone());
    }
    if let Some((certificate, key)) = &files.identity {
        client = client.client_certificate_for(url, certificate.clone(), key.reveal());
    }
    if !upstream.headers.is_empty() {
        client = client.credentials_for(url, Credentials::headers(&headers(upstream)?));
    }
    if let Some(token) = &files.token {
        client = client.credentials_for(url, Credentials::bearer(token.clone())?);
    }
    if let Some(client_id) = &upstream.oauth.client_id {
        let servers = upstream.oauth.servers.iter();
        let oauth_client = OAuthClient {
            client_id: client_id.clone(),
            client_secret: upstream.oauth.client_secret.clone(),
            scopes: upstream.oauth.scopes.clone(),
            trusted_servers: servers.map(|it| it.as_str().to_owned()).collect(),
        };
        let credential_set =
            CredentialSet { oauth_client: Some(oauth_client), ..CredentialSet::default() };
        client = client.credential_set_for(url, credential_set);
    }
    Ok(client)
}

fn headers(upstream: &Upstream) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in &upstream.headers {
        let invalid = |problem| Error::InvalidSetup(format!("`headers`: {name:?} {problem}"));
        let header =
            HeaderName::try_from(name).map_err(|_| invalid("is not a valid header name"))?;
        let value = HeaderValue::try_from(value.reveal());
        headers.insert(header, value.map_err(|_| invalid("has an invalid header value"))?);
    }
    Ok(headers)
}

/// Contents of the files that the settings of a remote agent name.
struct UpstreamFiles {
    token: Option<Secret>,
    trust: CardTrust,
    root_certificates: Option<String>,
    /// Client certificate and its key.
    identity: Option<(String, Secret)>,
}

impl UpstreamFiles {
    fn read(agent: &str, upstream: &Upstream) -> Result<Self, StartError> {
        let read = |path: &Path| {
            let read_error = |source| {
                let (agent, path) = (agent.to_owned(), path.to_owned());
                StartError::UpstreamFile { agent, path, source }
            };
            fs::read_to_string(path).map_err(read_error)
        };
        let token = match (&upstream.auth.auth_token, &upstream.auth.auth_token_file) {
            (None, Some(path)) => Some(Secret::new(read(path)?.trim_end())),
            (token, _) => token.clone(),
        };
        let identity = upstream.identity.files();
        let identity =
            identity.map(|(certificate, key)| Ok((read(certificate)?, Secret::new(read(key)?))));
        Ok(Self {
            token,
            trust: card_trust(upstream)?,
            root_certificates: upstream.root_certificates.as_deref().map(read).transpose()?,
            identity: identity.transpose()?,
        })
    }
}

fn card_trust(upstream: &Upstream) -> Result<CardTrust, StartError> {
    let mut keys = KeySet::default();
    for path in &upstream.trusted_keys {
        let key_set = signing::read_key_file(path, KeySet::read)?;
        key_set.iter().for_each(|it| keys.insert(it.clone()));
    }
    Ok(match upstream.signatures {
        SignaturePolicy::Ignore => CardTrust::Unverified,
        SignaturePolicy::IfSigned => CardTrust::IfSigned(keys),
        SignaturePolicy::Required => CardTrust::Required(keys),
    })
}
