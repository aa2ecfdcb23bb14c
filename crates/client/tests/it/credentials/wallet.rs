//! The card chooses what is shown.

use latimer_client::credentials::oauth::OAuthClient;
use latimer_client::{Client, Error, Wallet, says};
use latimer_protocol::Secret;
use serde_json::{Value, json};

use super::grants::form;
use super::{card, task};
use crate::support::{Answer, Stub};

fn wallet() -> Wallet {
    Wallet {
        api_key: Some(Secret::new("k3y")),
        basic: Some(("us".into(), Secret::new("w0rd"))),
        client: Some(OAuthClient {
            secret: Some(Secret::new("s3cret")),
            ..OAuthClient::new("client")
        }),
        ..Wallet::default()
    }
}

/// An agent whose card wants this, and that gives tokens too.
async fn wanting(schemes: Value, requirements: Value) -> Stub {
    Stub::start(move |asked| {
        let own = format!("http://{}", asked.header("host").unwrap());
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", path) if path.starts_with("/.well-known/oauth-authorization-server") => {
                Answer::json(described(&own, "/login"))
            }
            ("GET", path) if path.ends_with("/openid-configuration") => {
                Answer::json(described(&own, path.trim_end_matches(WELL_KNOWN)))
            }
            ("GET", _) => {
                let mut card = card(&own);
                let schemes = schemes.to_string().replace("OWN", &own);
                card["securitySchemes"] = serde_json::from_str(&schemes).unwrap();
                card["securityRequirements"] = requirements.clone();
                Answer::json(card)
            }
            (_, "/token") => {
                Answer::json(json!({"access_token": "granted", "token_type": "Bearer"}))
            }
            _ => Answer::json(task()),
        }
    })
    .await
}

const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// What a provider of the agent's origin says about itself.
fn described(own: &str, name: &str) -> Value {
    let (mut issuer, mut token) = (format!("{own}{name}"), format!("{own}/token"));
    let mut grants = json!(["authorization_code", "client_credentials"]);
    match name {
        "/thief" => token = "https://thief.example/token".into(),
        "/impostor" => issuer = "https://login.example".into(),
        "/for-people" => grants = json!(["authorization_code"]),
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
        "oidc-for-people": oidc("/for-people"),
    })
}

fn needs(names: &[&str]) -> Value {
    let schemes: serde_json::Map<_, _> =
        names.iter().map(|it| ((*it).to_owned(), json!({"list": ["read"]}))).collect();
    json!({ "schemes": schemes })
}

#[tokio::test]
async fn the_first_requirement_that_can_be_met_is() {
    for (requirements, header, want) in [
        (json!([needs(&["key"])]), "x-key", Some("k3y")),
        (json!([needs(&["cookie"])]), "cookie", Some("sid=k3y")),
        (
            json!([needs(&["bearer"]), needs(&["basic"])]),
            "authorization",
            Some("Basic dXM6dzByZA=="),
        ),
        (json!([needs(&["key", "oauth"])]), "authorization", Some("Bearer granted")),
        (json!([needs(&["oidc"])]), "authorization", Some("Bearer granted")),
        (json!([needs(&["described"])]), "authorization", Some("Bearer granted")),
        (json!([needs(&["mtls"]), needs(&["key", "oauth"])]), "x-key", Some("k3y")),
        (json!([needs(&["key"]), needs(&[])]), "x-key", None),
        (json!([]), "x-key", None),
    ] {
        let agent = wanting(schemes(), requirements.clone()).await;
        let client = Client::builder(agent.url()).wallet(wallet()).connect().await.unwrap();
        client.send(says("hello")).await.unwrap();
        let asked = agent.asked();
        let call = asked.iter().rfind(|it| it.method == "POST" && it.path == "/").unwrap();
        assert_eq!(call.header(header), want, "{requirements}");
        let token = asked.iter().find(|it| it.path == "/token");
        assert!(token.is_none_or(|it| form(&it.body)["scope"] == "read"), "{requirements}");
    }
}

#[tokio::test]
async fn what_cannot_be_met_is_said() {
    for (requirements, want) in [
        (json!([needs(&["bearer"])]), "\"bearer\" needs a bearer token"),
        (json!([needs(&["key", "mtls"])]), "\"mtls\" needs a client certificate"),
        (json!([needs(&["unknown"])]), "does not say what \"unknown\" is"),
        (json!([needs(&["thief"])]), "that is trusted with the client's secret"),
        (json!([needs(&["oidc-thief"])]), "that is trusted with the client's secret"),
        (json!([needs(&["undescribed"])]), "a provider that says what it is"),
        (json!([needs(&["oidc-impostor"])]), "a provider that says what it is"),
        (json!([needs(&["oidc-for-people"])]), "somebody to log in first"),
    ] {
        let agent = wanting(schemes(), requirements).await;
        let error = Client::builder(agent.url()).wallet(wallet()).connect().await.unwrap_err();
        assert!(matches!(error, Error::Credentials(_)), "{error:?}");
        assert!(error.to_string().contains(want), "{error}");
        assert!(agent.asked().iter().all(|it| it.method == "GET"));
    }
}

#[tokio::test]
async fn a_secret_goes_to_a_server_that_was_named_for_it() {
    let granting =
        Stub::start(|_| Answer::json(json!({"access_token": "granted", "token_type": "Bearer"})))
            .await;
    let flow = json!({"tokenUrl": format!("{}/token", granting.url()), "scopes": {}});
    let scheme = json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}});
    let agent = wanting(json!({ "oauth": scheme }), json!([needs(&["oauth"])])).await;
    let refused = Client::builder(agent.url()).wallet(wallet()).connect().await;
    assert!(matches!(refused, Err(Error::Credentials(_))), "{refused:?}");
    assert!(granting.asked().is_empty());

    let mut wallet = wallet();
    wallet.client.as_mut().unwrap().servers = vec![granting.url()];
    let client = Client::builder(agent.url()).wallet(wallet).connect().await.unwrap();
    client.send(says("hello")).await.unwrap();
    assert_eq!(granting.asked().len(), 1);
    assert!(agent.asked().iter().all(|it| !it.all().contains("s3cret")));
}

#[tokio::test]
async fn a_card_does_not_send_us_to_a_provider_within() {
    let within = Stub::start(|_| Answer::json(described("http://127.0.0.1", ""))).await;
    let url = format!("{}{WELL_KNOWN}", within.url());
    let scheme = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": url}});
    let agent = wanting(json!({ "oidc": scheme }), json!([needs(&["oidc"])])).await;
    let refused = Client::builder(agent.url()).wallet(wallet()).connect().await;
    assert!(matches!(refused, Err(Error::Credentials(_))), "{refused:?}");
    assert!(within.asked().is_empty());
}
