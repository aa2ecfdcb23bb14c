//! Selection of credentials that satisfy a card.

use latimer_client::credentials::oauth::OAuthClient;
use latimer_client::{Client, CredentialSet, Error, user_message};
use latimer_protocol::Secret;
use serde_json::{Value, json};

use super::grants::form;
use super::{card, task_response};
use crate::support::{Stub, StubResponse};

fn credential_set() -> CredentialSet {
    CredentialSet {
        api_key: Some(Secret::new("k3y")),
        basic: Some(("user".into(), Secret::new("w0rd"))),
        oauth_client: Some(OAuthClient {
            client_secret: Some(Secret::new("s3cret")),
            ..OAuthClient::new("client")
        }),
        ..CredentialSet::default()
    }
}

/// An agent whose card has these requirements, and which is an authorization server, too.
async fn agent_requiring(schemes: Value, requirements: Value) -> Stub {
    Stub::start(move |request| {
        let origin = format!("http://{}", request.header("host").unwrap());
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path.starts_with("/.well-known/oauth-authorization-server") => {
                StubResponse::json(provider_metadata(&origin, "/login"))
            }
            ("GET", path) if path.ends_with("/openid-configuration") => {
                StubResponse::json(provider_metadata(&origin, path.trim_end_matches(WELL_KNOWN)))
            }
            ("GET", _) => {
                let mut card = card(&origin);
                let schemes = schemes.to_string().replace("OWN", &origin);
                card["securitySchemes"] = serde_json::from_str(&schemes).unwrap();
                card["securityRequirements"] = requirements.clone();
                StubResponse::json(card)
            }
            (_, "/token") => {
                StubResponse::json(json!({"access_token": "granted", "token_type": "Bearer"}))
            }
            _ => StubResponse::json(task_response()),
        }
    })
    .await
}

const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// Metadata of a provider at the origin of the agent.
fn provider_metadata(origin: &str, name: &str) -> Value {
    let (mut issuer, mut token) = (format!("{origin}{name}"), format!("{origin}/token"));
    let mut grants = json!(["authorization_code", "client_credentials"]);
    match name {
        "/thief" => token = "https://thief.example/token".into(),
        "/impostor" => issuer = "https://login.example".into(),
        "/login-only" => grants = json!(["authorization_code"]),
        _ => {}
    }
    json!({"issuer": issuer, "token_endpoint": token, "grant_types_supported": grants})
}

fn schemes() -> Value {
    let oauth = |url: &str| {
        let flow = json!({"tokenUrl": url, "scopes": {"read": "Read"}});
        json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}})
    };
    let oidc = |name: &str| {
        let url = format!("OWN{name}{WELL_KNOWN}");
        json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": url}})
    };
    json!({
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "cookie": {"apiKeySecurityScheme": {"location": "cookie", "name": "sid"}},
        "basic": {"httpAuthSecurityScheme": {"scheme": "Basic"}},
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        "oauth": oauth("OWN/token"),
        "described": {"oauth2SecurityScheme": {
            "flows": {"clientCredentials": {"scopes": {}}},
            "oauth2MetadataUrl": "OWN/.well-known/oauth-authorization-server/login",
        }},
        "undescribed": oauth(""),
        "thief": oauth("https://thief.example/token"),
        "mtls": {"mtlsSecurityScheme": {}},
        "oidc": oidc("/login"),
        "oidc-thief": oidc("/thief"),
        "oidc-impostor": oidc("/impostor"),
        "oidc-login-only": oidc("/login-only"),
    })
}

fn requirement(names: &[&str]) -> Value {
    let schemes: serde_json::Map<_, _> =
        names.iter().map(|it| ((*it).to_owned(), json!({"list": ["read"]}))).collect();
    json!({ "schemes": schemes })
}

#[tokio::test]
async fn first_satisfiable_requirement_is_used() {
    for (requirements, header, want) in [
        (json!([requirement(&["key"])]), "x-key", Some("k3y")),
        (json!([requirement(&["cookie"])]), "cookie", Some("sid=k3y")),
        (
            json!([requirement(&["bearer"]), requirement(&["basic"])]),
            "authorization",
            Some("Basic dXNlcjp3MHJk"),
        ),
        (json!([requirement(&["key", "oauth"])]), "authorization", Some("Bearer granted")),
        (json!([requirement(&["oidc"])]), "authorization", Some("Bearer granted")),
        (json!([requirement(&["described"])]), "authorization", Some("Bearer granted")),
        (json!([requirement(&["mtls"]), requirement(&["key", "oauth"])]), "x-key", Some("k3y")),
        (json!([requirement(&["key"]), requirement(&[])]), "x-key", None),
        (json!([]), "x-key", None),
    ] {
        let agent = agent_requiring(schemes(), requirements.clone()).await;
        let client =
            Client::builder(agent.url()).credential_set(credential_set()).connect().await.unwrap();
        client.send(user_message("hello")).await.unwrap();
        let requests = agent.requests();
        let call = requests.iter().rfind(|it| it.method == "POST" && it.path == "/").unwrap();
        assert_eq!(call.header(header), want, "{requirements}");
        let token = requests.iter().find(|it| it.path == "/token");
        assert!(token.is_none_or(|it| form(&it.body)["scope"] == "read"), "{requirements}");
    }
}

#[tokio::test]
async fn unsatisfiable_requirement_is_reported() {
    for (requirements, want) in [
        (json!([requirement(&["bearer"])]), "scheme \"bearer\": set a bearer token"),
        (json!([requirement(&["key", "mtls"])]), "scheme \"mtls\": set a client certificate"),
        (json!([requirement(&["unknown"])]), "scheme \"unknown\": the card does not define it"),
        (json!([requirement(&["thief"])]), "is not trusted with the client secret"),
        (json!([requirement(&["oidc-thief"])]), "is not trusted with the client secret"),
        (json!([requirement(&["undescribed"])]), "has no usable metadata"),
        (json!([requirement(&["oidc-impostor"])]), "has no usable metadata"),
        (json!([requirement(&["oidc-login-only"])]), "log in as a user"),
    ] {
        let agent = agent_requiring(schemes(), requirements).await;
        let error = Client::builder(agent.url())
            .credential_set(credential_set())
            .connect()
            .await
            .unwrap_err();
        assert!(matches!(error, Error::NoCredentials(_)), "{error:?}");
        assert!(error.to_string().contains(want), "{error}");
        assert!(agent.requests().iter().all(|it| it.method == "GET"));
    }
}

#[tokio::test]
async fn client_secret_is_sent_only_to_trusted_server() {
    let token_server = Stub::start(|_| {
        StubResponse::json(json!({"access_token": "granted", "token_type": "Bearer"}))
    })
    .await;
    let flow = json!({"tokenUrl": format!("{}/token", token_server.url()), "scopes": {}});
    let scheme = json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}});
    let agent = agent_requiring(json!({ "oauth": scheme }), json!([requirement(&["oauth"])])).await;
    let result = Client::builder(agent.url()).credential_set(credential_set()).connect().await;
    assert!(matches!(result, Err(Error::NoCredentials(_))), "{result:?}");
    assert!(token_server.requests().is_empty());

    let mut credential_set = credential_set();
    credential_set.oauth_client.as_mut().unwrap().trusted_servers = vec![token_server.url()];
    let client =
        Client::builder(agent.url()).credential_set(credential_set).connect().await.unwrap();
    client.send(user_message("hello")).await.unwrap();
    assert_eq!(token_server.requests().len(), 1);
    assert!(agent.requests().iter().all(|it| !it.full_text().contains("s3cret")));
}

#[tokio::test]
async fn card_cannot_direct_client_to_private_provider() {
    let private_provider =
        Stub::start(|_| StubResponse::json(provider_metadata("http://127.0.0.1", ""))).await;
    let url = format!("{}{WELL_KNOWN}", private_provider.url());
    let scheme = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": url}});
    let agent = agent_requiring(json!({ "oidc": scheme }), json!([requirement(&["oidc"])])).await;
    let result = Client::builder(agent.url()).credential_set(credential_set()).connect().await;
    assert!(matches!(result, Err(Error::NoCredentials(_))), "{result:?}");
    assert!(private_provider.requests().is_empty());
}
