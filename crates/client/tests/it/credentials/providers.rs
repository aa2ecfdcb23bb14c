//! Authorization servers with metadata, and those that cards name.

use latimer_client::credentials::oauth::{OAuthClient, OAuthProvider, TokenSource};
use latimer_client::outbound::{Guard, HttpClient as Http};
use latimer_client::{Error, user_message};
use latimer_protocol::Secret;
use latimer_protocol::card::SecurityScheme;
use serde_json::{Value, json};

use super::grants::{agent_accepting, client_with, form};
use crate::support::{Stub, StubResponse, allow_loopback};

fn http() -> Http {
    Http::builder(Guard::new(allow_loopback())).build().unwrap()
}

fn public_client() -> OAuthClient {
    OAuthClient::new("my-client")
}

fn confidential_client() -> OAuthClient {
    OAuthClient { client_secret: Some(Secret::new("s3cret")), ..public_client() }
}

/// A server with metadata, in part defined by the test, and a token endpoint.
async fn metadata_server(overrides: Value) -> Stub {
    Stub::start(move |request| {
        let origin = format!("http://{}", request.header("host").unwrap());
        let mut metadata = json!({
            "issuer": origin,
            "token_endpoint": format!("{origin}/token"),
            "authorization_endpoint": format!("{origin}/authorize"),
            "device_authorization_endpoint": format!("{origin}/device"),
        });
        metadata.as_object_mut().unwrap().extend(overrides.as_object().unwrap().clone());
        match request.method.as_str() {
            "GET" => StubResponse::json(metadata),
            _ => StubResponse::json(json!({"access_token": "token-1", "token_type": "Bearer"})),
        }
    })
    .await
}

#[tokio::test]
async fn client_secret_is_sent_where_the_server_supports_it() {
    for (methods, in_form) in [
        (json!(["client_secret_post"]), true),
        (json!(["client_secret_post", "client_secret_basic"]), false),
        (json!(["private_key_jwt"]), false),
        (json!([]), false),
    ] {
        let overrides = json!({"token_endpoint_auth_methods_supported": methods});
        let (server, agent) =
            (metadata_server(overrides).await, agent_accepting(|it| it == "token-1").await);
        let url = format!("{}/.well-known/oauth-authorization-server", server.url());
        let provider = OAuthProvider::discover(&http(), &url).await.unwrap();
        let tokens =
            TokenSource::client_credentials(provider.server(http(), confidential_client()));
        client_with(&agent, tokens).send(user_message("hello")).await.unwrap();
        let request = server.requests().pop().unwrap();
        assert_eq!(request.header("authorization").is_none(), in_form, "{methods}");
        let form = form(&request.body);
        assert_eq!(form.get("client_secret").is_some_and(|it| it == "s3cret"), in_form);
        assert_eq!(form.get("client_id").is_some_and(|it| it == "my-client"), in_form, "{methods}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    let server = metadata_server(json!({"issuer": "https://login.example"})).await;
    for document in ["openid-configuration", "oauth-authorization-server", "oauth-something"] {
        let url = format!("{}/.well-known/{document}", server.url());
        let error = OAuthProvider::discover(&http(), &url).await.unwrap_err();
        assert!(error.to_string().contains("names another issuer"), "{document}: {error}");
    }
}

fn scheme(flows: Value, metadata_url: Option<&str>) -> SecurityScheme {
    let mut scheme = json!({ "flows": flows });
    scheme
        .as_object_mut()
        .unwrap()
        .extend(metadata_url.map(|url| ("oauth2MetadataUrl".to_owned(), json!(url))));
    serde_json::from_value(json!({ "oauth2SecurityScheme": scheme })).unwrap()
}

#[tokio::test]
async fn provider_is_built_from_card_scheme() {
    let server = metadata_server(json!({})).await;
    let origin = server.url();
    let metadata_url = format!("{origin}/.well-known/oauth-authorization-server");
    let login_flow = json!({"authorizationCode": {
        "authorizationUrl": format!("{origin}/page"), "tokenUrl": format!("{origin}/token"),
    }});
    for (flows, metadata_url, want) in [
        (login_flow, None, "/page"),
        (json!({"authorizationCode": {}}), Some(&*metadata_url), "/authorize"),
    ] {
        let provider =
            OAuthProvider::from_scheme(&http(), &scheme(flows, metadata_url)).await.unwrap();
        let login =
            provider.code_flow(http(), public_client()).unwrap().start("https://app.example/");
        assert!(login.unwrap().url.starts_with(&format!("{origin}{want}?")), "{want}");
    }
    assert_eq!(
        server.requests().len(),
        1,
        "metadata is fetched only if the card omits an endpoint"
    );

    let device = scheme(json!({"deviceCode": {}}), Some(&metadata_url));
    let provider = OAuthProvider::from_scheme(&http(), &device).await.unwrap();
    assert_eq!(provider.device_url, Some(format!("{origin}/device")));
    provider.device_flow(http(), public_client()).unwrap();
    let openid = format!("{origin}/.well-known/openid-configuration");
    let openid = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": openid}});
    let openid: SecurityScheme = serde_json::from_value(openid).unwrap();
    OAuthProvider::from_scheme(&http(), &openid)
        .await
        .unwrap()
        .code_flow(http(), public_client())
        .unwrap();
}

#[tokio::test]
async fn scheme_without_required_urls_is_an_error() {
    let key = json!({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}});
    for (scheme, want) in [
        (serde_json::from_value(key).unwrap(), "does not use an authorization server"),
        (scheme(json!({"authorizationCode": {}}), None), "names neither a token endpoint"),
        (scheme(json!({"password": {}}), None), "obsolete OAuth flow"),
    ] {
        let error = OAuthProvider::from_scheme(&http(), &scheme).await.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[tokio::test]
async fn card_cannot_direct_login_to_untrusted_server() {
    let flows = json!({"authorizationCode": {
        "authorizationUrl": "https://login.example/authorize",
        "tokenUrl": "https://thief.example/token",
    }});
    let provider = OAuthProvider::from_scheme(&http(), &scheme(flows, None)).await.unwrap();
    let trusting = |origins: &[&str], client: OAuthClient| {
        let servers = origins.iter().map(|it| format!("https://{it}.example")).collect();
        OAuthClient { trusted_servers: servers, ..client }
    };
    for (trusted, untrusted) in [(&[][..], "login"), (&["login"], "thief"), (&["thief"], "login")] {
        let error = provider.code_flow(http(), trusting(trusted, public_client())).unwrap_err();
        let want = format!("{untrusted}.example");
        assert!(matches!(&error, Error::NoCredentials(it) if it.contains(&want)), "{error}");
    }
    provider.code_flow(http(), trusting(&["login", "thief"], public_client())).unwrap();

    let flows = json!({"deviceCode": {
        "deviceAuthorizationUrl": "https://thief.example/device",
        "tokenUrl": "https://login.example/token",
    }});
    let provider = OAuthProvider::from_scheme(&http(), &scheme(flows, None)).await.unwrap();
    provider.device_flow(http(), trusting(&["login"], confidential_client())).unwrap_err();
    provider.device_flow(http(), trusting(&["login", "thief"], confidential_client())).unwrap();

    let flows = json!({"deviceCode": {
        "deviceAuthorizationUrl": "https://login.example/device",
        "tokenUrl": "https://login.example/token",
    }});
    let provider = OAuthProvider::from_scheme(&http(), &scheme(flows, None)).await.unwrap();
    provider.device_flow(http(), public_client()).unwrap();
    provider.device_flow(http(), confidential_client()).unwrap_err();
    provider.code_flow(http(), public_client()).unwrap_err();
}
