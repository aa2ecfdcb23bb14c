//! Result of authentication: status, code, challenge and metadata of each rejection.

use async_trait::async_trait;
use latimer_pb::v1;
use latimer_protocol::{Caller, Secret};
use latimer_server::{
    AnyOf, ApiKeys, AuthError, Authenticate, CertificateAuth, JwtAuth, JwtSettings,
    PresentedCredentials, Server, Settings,
};
use serde_json::{Value, json};
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{TestClient, TestServer, send_body, start_server, test_agent};

/// Path of the agent, which is public in these tests.
const PUBLIC_PATH: &str = "/a2a/agents/shouter";
/// Path of the same agent that requires authentication.
const PROTECTED_PATH: &str = "/a2a";

fn api_keys() -> ApiKeys {
    ApiKeys::default().with_operator_key(&Secret::new("sesame"))
}

async fn start(configure: impl FnOnce(Server) -> Server) -> TestServer {
    let public_paths = vec![PUBLIC_PATH.to_owned(), format!("{PUBLIC_PATH}/*")];
    let settings = Settings { public_paths, ..Settings::default() };
    start_server(configure(Server::new(test_agent("shouter")).settings(settings))).await
}

#[tokio::test]
async fn each_method_decides_for_public_and_protected_paths() {
    const BEARER: &str = r#"Bearer realm="latimer""#;
    const CERTIFICATE: &str = r#"Certificate realm="latimer""#;
    const INVALID: &str = r#", error="invalid_token", error_description="the API key is unknown""#;
    const NO_JWT: &str = concat!(
        r#", error="invalid_token", "#,
        r#"error_description="the token is not a JWT or uses an unsupported algorithm""#,
    );
    const MALFORMED: &str = concat!(
        r#", error="invalid_request", "#,
        r#"error_description="the Authorization header must use the Bearer scheme""#,
    );
    let no_credentials = ("x-other", "none");
    let wrong_key = ("authorization", "Bearer wrong");
    let malformed = ("authorization", "Basic c2VzYW1l");
    let closure = |server: Server| server.authenticate_with(|_| None);
    let keys = |server: Server| server.authenticate(api_keys());
    let jwt = |server: Server| {
        let settings = JwtSettings::new("https://login.example.com", "latimer");
        server.authenticate(JwtAuth::new(settings).unwrap())
    };
    let certificate = |server: Server| server.authenticate(CertificateAuth::default());
    let any = |server: Server| {
        server.authenticate(AnyOf::default().with(CertificateAuth::default()).with(api_keys()))
    };
    let unauthenticated = |server: Server| server;
    let methods: [(&str, &dyn Fn(Server) -> Server); 6] = [
        ("none", &unauthenticated),
        ("closure", &closure),
        ("keys", &keys),
        ("jwt", &jwt),
        ("certificate", &certificate),
        ("any", &any),
    ];
    for (name, configure) in methods {
        let server = start(configure).await;
        for (method, header, protected, public, challenge) in [
            ("none", no_credentials, 200, 200, String::new()),
            ("none", wrong_key, 200, 200, String::new()),
            ("closure", no_credentials, 401, 200, "Bearer".into()),
            ("closure", wrong_key, 401, 200, "Bearer".into()),
            ("keys", no_credentials, 401, 200, BEARER.into()),
            ("keys", wrong_key, 401, 401, format!("{BEARER}{INVALID}")),
            ("keys", malformed, 401, 401, format!("{BEARER}{MALFORMED}")),
            ("keys", ("x-api-key", "sesame"), 200, 200, String::new()),
            ("jwt", no_credentials, 401, 200, BEARER.into()),
            ("jwt", wrong_key, 401, 401, format!("{BEARER}{NO_JWT}")),
            ("jwt", malformed, 401, 401, format!("{BEARER}{MALFORMED}")),
            ("certificate", no_credentials, 401, 200, CERTIFICATE.into()),
            ("certificate", wrong_key, 401, 200, CERTIFICATE.into()),
            ("any", no_credentials, 401, 200, CERTIFICATE.into()),
            ("any", wrong_key, 401, 401, format!("{CERTIFICATE}{INVALID}")),
            ("any", ("x-api-key", "sesame"), 200, 200, String::new()),
        ] {
            if method != name {
                continue;
            }
            let caller = server.v1().with_header(header.0, header.1);
            let what = format!("{method} {header:?}");
            let rpc = caller.post(PROTECTED_PATH, send_body("SendMessage", "hi")).await;
            assert_eq!((rpc.status, rpc.header("www-authenticate")), (protected, &*challenge));
            let rest = caller.get(&format!("{PROTECTED_PATH}/tasks")).await;
            assert_eq!((rest.status, rest.header("www-authenticate")), (protected, &*challenge));
            let rpc = caller.post(PUBLIC_PATH, send_body("SendMessage", "hi")).await;
            let rest = caller.get(&format!("{PUBLIC_PATH}/tasks")).await;
            // A public path has a challenge only where it rejects the request.
            let challenge = if public == 200 { "" } else { &*challenge };
            for response in [rpc, rest] {
                let actual = (response.status, response.header("www-authenticate"));
                assert_eq!(actual, (public, challenge), "{what}");
            }
        }
    }
}

/// Authentication method that returns the same error for every request.
#[derive(Clone, Debug)]
struct RejectingAuth(AuthError);

#[async_trait]
impl Authenticate for RejectingAuth {
    async fn authenticate(&self, _: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        Err(self.0.clone())
    }

    fn challenge(&self) -> &str {
        "Custom"
    }
}

struct Rejection {
    error: AuthError,
    status: u16,
    /// Status of JSON-RPC, which is 200 for errors that do not concern the caller.
    rpc_status: u16,
    codes: (i64, Code),
    reason: &'static str,
    challenge: &'static str,
    metadata: Value,
    /// Whether a public path admits the caller.
    is_public: bool,
    /// Whether a further method is tried.
    is_continued: bool,
}

fn rejections() -> [Rejection; 6] {
    let unauthenticated = |error, challenge, metadata, is_public, is_continued| Rejection {
        error,
        status: 401,
        rpc_status: 401,
        codes: (-31401, Code::Unauthenticated),
        reason: "UNAUTHENTICATED",
        challenge,
        metadata,
        is_public,
        is_continued,
    };
    let forbidden = |error, challenge, metadata| Rejection {
        error,
        status: 403,
        rpc_status: 403,
        codes: (-31403, Code::PermissionDenied),
        reason: "UNAUTHORIZED",
        challenge,
        metadata,
        is_public: false,
        is_continued: false,
    };
    [
        unauthenticated(AuthError::Missing, "Custom", json!({}), true, true),
        unauthenticated(
            AuthError::Malformed("unreadable".into()),
            r#"Custom error="invalid_request", error_description="unreadable""#,
            json!({"error": "invalid_request"}),
            false,
            false,
        ),
        unauthenticated(
            AuthError::Invalid("expired".into()),
            r#"Custom error="invalid_token", error_description="expired""#,
            json!({"error": "invalid_token"}),
            false,
            true,
        ),
        forbidden(
            AuthError::Scope(vec!["read".into(), "write".into()]),
            concat!(
                r#"Custom error="insufficient_scope", "#,
                r#"error_description="this requires the scope read write", scope="read write""#,
            ),
            json!({"error": "insufficient_scope", "scope": "read write"}),
        ),
        forbidden(AuthError::Forbidden("suspended".into()), "", json!({})),
        Rejection {
            error: AuthError::Unavailable("the provider is down".into()),
            status: 503,
            rpc_status: 200,
            codes: (-31503, Code::Unavailable),
            reason: "UNAVAILABLE",
            challenge: "",
            metadata: json!({}),
            is_public: false,
            is_continued: false,
        },
    ]
}

#[tokio::test]
async fn custom_method_can_return_each_error() {
    for rejection in rejections() {
        let what = format!("{:?}", rejection.error);
        let server = start(|it| it.authenticate(RejectingAuth(rejection.error.clone()))).await;
        let caller = server.v1();
        let rpc = caller.post(PROTECTED_PATH, send_body("SendMessage", "hi")).await;
        assert_eq!((rpc.status, rpc.rpc_error_code()), (rejection.rpc_status, rejection.codes.0));
        assert_eq!(rpc.header("www-authenticate"), rejection.challenge, "{what}");
        let info = &rpc.json()["error"]["data"][0];
        assert_eq!(
            (&info["reason"], &info["metadata"]),
            (&json!(rejection.reason), &rejection.metadata)
        );
        let rest = caller.get(&format!("{PROTECTED_PATH}/tasks")).await;
        assert_eq!(
            (rest.status, rest.header("www-authenticate")),
            (rejection.status, rejection.challenge)
        );
        let info = &rest.json()["error"]["details"][0];
        assert_eq!(
            (&info["reason"], &info["metadata"]),
            (&json!(rejection.reason), &rejection.metadata)
        );
        assert_eq!(list_over_grpc(&server).await, Some(rejection.codes.1), "{what}");
        let public = caller.get(&format!("{PUBLIC_PATH}/tasks")).await.status;
        assert_eq!(public, if rejection.is_public { 200 } else { rejection.status }, "{what}");
        assert_eq!(caller.get("/.well-known/agent-card.json").await.status, 200, "{what}");
    }
}

#[tokio::test]
async fn any_of_stops_at_definite_errors() {
    for rejection in rejections() {
        let methods =
            AnyOf::default().with(RejectingAuth(rejection.error.clone())).with(api_keys());
        let server = start(|it| it.authenticate(methods)).await;
        let caller = server.v1().with_header("x-api-key", "sesame");
        let status = caller.get(&format!("{PROTECTED_PATH}/tasks")).await.status;
        let want = if rejection.is_continued { 200 } else { rejection.status };
        assert_eq!(status, want, "{:?}", rejection.error);
    }
}

async fn list_over_grpc(client: &TestClient) -> Option<Code> {
    let endpoint = Endpoint::from_shared(format!("http://{}", client.address)).unwrap();
    let mut client = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    client.list_tasks(v1::ListTasksRequest::default()).await.err().map(|it| it.code())
}
