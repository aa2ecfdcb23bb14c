//! Makes an agent of one that is elsewhere, or looks for it only.

use std::fs;
use std::io;

use http::{HeaderMap, HeaderName, HeaderValue};
use latimer_client::credentials::oauth::OAuthClient;
use latimer_client::outbound::{Allowed, Rules};
use latimer_client::transport::Limits;
use latimer_client::{Builder, Credentials, Error, Source, Trust, Wallet};
use latimer_protocol::Secret;
use latimer_protocol::card::KeySet;
use latimer_runtime::Remote;
use latimer_server::Agent;
use url::Url;

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
    let remote = remote.described(move |found| complete(found, &card, streaming));
    Ok(remote.agent(&agent.name))
}

/// Agents that are looked for, and not published, by their names.
pub(crate) fn external(config: &Config) -> Result<Vec<(&str, Remote)>, StartError> {
    let listed = config.remote_agents.iter().filter(|_| config.serving != Serving::Disabled);
    listed.map(|it| Ok((&*it.name, elsewhere(&it.name, &it.upstream)?))).collect()
}

fn elsewhere(name: &str, said: &UpstreamConfig) -> Result<Remote, StartError> {
    let mut said = said.clone();
    said.token = said.token.take().map_or_else(|| token(name, &said), |it| Ok(Some(it)))?;
    let trust = trust(&said)?;
    let source = match &said.card_url {
        Some(url) => Source::CardUrl(url.clone()),
        None => said.url.as_str().into(),
    };
    let wrong = |source| StartError::Upstream { agent: name.to_owned(), source };
    // Whether it can be set up at all is known now, and told now.
    let builder = set_up(latimer_client::Client::builder(source.clone()), &said, &trust);
    drop(builder.map_err(wrong)?);
    let remote = Remote::new(source).hiding(&said.url).hops(said.hops);
    let remote = remote.telling_caller(said.forward_user);
    Ok(remote.client(move |builder| set_up(builder, &said, &trust)))
}

/// Says what the configuration says in place of what the agent does.
fn complete(found: &mut latimer_protocol::card::AgentCard, card: &CardConfig, streaming: bool) {
    describe(found, card);
    found.capabilities.streaming = Some(streaming);
}

fn set_up(client: Builder, said: &UpstreamConfig, trust: &Trust) -> Result<Builder, Error> {
    let limits = Limits { call: said.timeout, idle: said.idle, ..Limits::default() };
    let mut client = client.limits(limits).trust(trust.clone()).rules(rules(&said.url)?);
    client = client.versions(
        said.version
            .map_or_else(|| latimer_protocol::Version::ALL.to_vec(), |version| vec![version]),
    );
    if let Some(binding) = &said.binding {
        client = client.bindings([binding.clone()]);
    }
    if !said.stream {
        client = client.without_streams();
    }
    if let Some(name) = &said.user_agent {
        client = client.user_agent(name.clone());
    }
    if let Some(tenant) = &said.tenant {
        client = client.tenant(tenant);
    }
    if !said.headers.is_empty() {
        client = client.credentials_for(&said.url, Credentials::headers(&headers(said)?));
    }
    if let Some(token) = &said.token {
        client = client.credentials_for(&said.url, Credentials::bearer(token.clone())?);
    }
    if let Some(OAuthConfig { client_id, client_secret, scopes, servers }) = said.oauth.clone() {
        let known = OAuthClient { id: client_id, secret: client_secret, scopes, servers };
        client = client.wallet(Wallet { client: Some(known), ..Wallet::default() });
    }
    Ok(client)
}

/// The address that the operator names may be called, and no other one for that.
fn rules(url: &str) -> Result<Rules, Error> {
    let wrong = || Error::Setup("`url` is not an http or https URL".into());
    let url = Url::parse(url).map_err(|_| wrong())?;
    let host = url.host_str().ok_or_else(wrong)?;
    let port = url.port_or_known_default().ok_or_else(wrong)?;
    let own: Allowed = format!("{host}:{port}").parse().map_err(|_| wrong())?;
    Ok(Rules { allow: vec![own], ..Rules::default() })
}

fn headers(said: &UpstreamConfig) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in &said.headers {
        let wrong = |what| Error::Setup(format!("`headers`: {name:?} {what}"));
        let header =
            HeaderName::try_from(name).map_err(|_| wrong("is not the name of a header"))?;
        let value = HeaderValue::try_from(value.reveal());
        headers.insert(header, value.map_err(|_| wrong("has a value that no header can carry"))?);
    }
    Ok(headers)
}

fn token(agent: &str, said: &UpstreamConfig) -> Result<Option<Secret>, StartError> {
    let Some(path) = &said.token_file else { return Ok(None) };
    let failed = |source: io::Error| StartError::TokenFile {
        agent: agent.to_owned(),
        path: path.clone(),
        source,
    };
    let text = fs::read_to_string(path).map_err(failed)?;
    Ok(Some(Secret::new(text.trim_end())))
}

fn trust(said: &UpstreamConfig) -> Result<Trust, StartError> {
    let mut keys = KeySet::default();
    for path in &said.trusted_keys {
        let more = signing::read(path, KeySet::read)?;
        more.iter().for_each(|it| keys.insert(it.clone()));
    }
    Ok(match said.signatures {
        Signatures::Ignore => Trust::Everybody,
        Signatures::IfSigned => Trust::IfSigned(keys),
        Signatures::Required => Trust::Signed(keys),
    })
}
