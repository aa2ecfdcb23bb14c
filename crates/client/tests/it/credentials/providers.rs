//! Authorization servers: as they describe themselves, and as cards name them.

use latimer_client::credentials::oauth::{OAuthClient, Provider, Tokens};
use latimer_client::outbound::{Guard, HttpClient as Http};
use latimer_client::{Error, says};
use latimer_protocol::Secret;
use latimer_protocol::card::SecurityScheme;
use serde_json::{Value, json};

use super::grants::{agent, client, form};
use crate::support::{Answer, Stub, loopback};

fn http() -> Http {
    Http::builder(Guard::new(loopback())).build().unwrap()
}

fn known() -> OAuthClient {
    OAuthClient::new("us")
}

fn secretive() -> OAuthClient {
    OAuthClient { secret: Some(Secret::new("s3cret")), ..known() }
}

/// A server that describes itself, in part as a test wants, and gives tokens.
async fn describing(more: Value) -> Stub {
    Stub::start(move |asked| {
        let own = format!("http://{}", asked.header("host").unwrap());
        let mut said = json!({
            "issuer": own,
            "token_endpoint": format!("{own}/token"),
            "authorization_endpoint": format!("{own}/authorize"),
            "device_authorization_endpoint": format!("{own}/device"),
        });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match asked.method.as_str() {
            "GET" => Answer::json(said),
            _ => Answer::json(json!({"access_token": "token-1", "token_type": "Bearer"})),
        }
    })
    .await
}

#[tokio::test]
async fn a_secret_is_shown_in_the_place_that_the_server_looks_at() {
    for (methods, in_form) in [
        (json!(["client_secret_post"]), true),
        (json!(["client_secret_post", "client_secret_basic"]), false),
        (json!(["private_key_jwt"]), false),
        (json!([]), false),
    ] {
        let more = json!({"token_endpoint_auth_methods_supported": methods});
        let (granting, agent) = (describing(more).await, agent(|it| it == "token-1").await);
        let url = format!("{}/.well-known/oauth-authorization-server", granting.url());
        let provider = Provider::discover(&http(), &url).await.unwrap();
        let tokens = Tokens::for_client(provider.server(http(), secretive()));
        client(&agent, tokens).send(says("hello")).await.unwrap();
        let asked = granting.asked().pop().unwrap();
        assert_eq!(asked.header("authorization").is_none(), in_form, "{methods}");
        let form = form(&asked.body);
        assert_eq!(form.get("client_secret").is_some_and(|it| it == "s3cret"), in_form);
        assert_eq!(form.get("client_id").is_some_and(|it| it == "us"), in_form, "{methods}");
    }
}

#[tokio::test]
async fn who_describes_another_one_is_not_believed() {
    let granting = describing(json!({"issuer": "https://login.example"})).await;
    for place in ["openid-configuration", "oauth-authorization-server", "oauth-something"] {
        let url = format!("{}/.well-known/{place}", granting.url());
        let error = Provider::discover(&http(), &url).await.unwrap_err();
        assert!(error.to_string().contains("describes another one"), "{place}: {error}");
    }
}

fn scheme(flows: Value, described: Option<&str>) -> SecurityScheme {
    let mut scheme = json!({ "flows": flows });
    scheme
        .as_object_mut()
        .unwrap()
        .extend(described.map(|url| ("oauth2MetadataUrl".to_owned(), json!(url))));
    serde_json::from_value(json!({ "oauth2SecurityScheme": scheme })).unwrap()
}

#[tokio::test]
async fn a_scheme_names_the_server_of_its_flow() {
    let granting = describing(json!({})).await;
    let own = granting.url();
    let described = format!("{own}/.well-known/oauth-authorization-server");
    let page = json!({"authorizationCode": {
        "authorizationUrl": format!("{own}/page"), "tokenUrl": format!("{own}/token"),
    }});
    for (flows, described, want) in
        [(page, None, "/page"), (json!({"authorizationCode": {}}), Some(&*described), "/authorize")]
    {
        let provider = Provider::of_scheme(&http(), &scheme(flows, described)).await.unwrap();
        let login = provider.code_flow(http(), known()).unwrap().start("https://us.example/");
        assert!(login.unwrap().url.starts_with(&format!("{own}{want}?")), "{want}");
    }
    assert_eq!(granting.asked().len(), 1, "only what the card leaves out is asked for");

    let device = scheme(json!({"deviceCode": {}}), Some(&described));
    let provider = Provider::of_scheme(&http(), &device).await.unwrap();
    assert_eq!(provider.device_url, Some(format!("{own}/device")));
    provider.device_flow(http(), known()).unwrap();
    let openid = format!("{own}/.well-known/openid-configuration");
    let openid = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": openid}});
    let openid: SecurityScheme = serde_json::from_value(openid).unwrap();
    Provider::of_scheme(&http(), &openid).await.unwrap().code_flow(http(), known()).unwrap();
}

#[tokio::test]
async fn what_a_card_leaves_out_and_nobody_says_is_an_error() {
    let key = json!({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}});
    for (scheme, want) in [
        (serde_json::from_value(key).unwrap(), "wants no token"),
        (scheme(json!({"authorizationCode": {}}), None), "does not say where tokens are got"),
        (scheme(json!({"password": {}}), None), "nobody should follow"),
    ] {
        let error = Provider::of_scheme(&http(), &scheme).await.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[tokio::test]
async fn a_card_has_no_login_brought_to_somebody_else() {
    let flows = json!({"authorizationCode": {
        "authorizationUrl": "https://login.example/authorize",
        "tokenUrl": "https://thief.example/token",
    }});
    let provider = Provider::of_scheme(&http(), &scheme(flows, None)).await.unwrap();
    let trusting = |origins: &[&str], client: OAuthClient| {
        let servers = origins.iter().map(|it| format!("https://{it}.example")).collect();
        OAuthClient { servers, ..client }
    };
    for (trusted, stranger) in [(&[][..], "login"), (&["login"], "thief"), (&["thief"], "login")] {
        let error = provider.code_flow(http(), trusting(trusted, known())).unwrap_err();
        let want = format!("{stranger}.example");
        assert!(matches!(&error, Error::Credentials(it) if it.contains(&want)), "{error}");
    }
    provider.code_flow(http(), trusting(&["login", "thief"], known())).unwrap();

    let flows = json!({"deviceCode": {
        "deviceAuthorizationUrl": "https://thief.example/device",
        "tokenUrl": "https://login.example/token",
    }});
    let provider = Provider::of_scheme(&http(), &scheme(flows, None)).await.unwrap();
    provider.device_flow(http(), trusting(&["login"], secretive())).unwrap_err();
    provider.device_flow(http(), trusting(&["login", "thief"], secretive())).unwrap();

    let flows = json!({"deviceCode": {
        "deviceAuthorizationUrl": "https://login.example/device",
        "tokenUrl": "https://login.example/token",
    }});
    let provider = Provider::of_scheme(&http(), &scheme(flows, None)).await.unwrap();
    provider.device_flow(http(), known()).unwrap();
    provider.device_flow(http(), secretive()).unwrap_err();
    provider.code_flow(http(), known()).unwrap_err();
}
