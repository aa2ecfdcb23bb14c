//! Directives to another member of a swarm.

use latimer_client::{Client, Credentials};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::swarm::{Directive, DirectiveKind};
use latimer_protocol::{Caller, Secret, SendMessageResponse, TaskState, Version};
use latimer_runtime::EchoAgent;
use latimer_server::{Server, Turn};
use serde_json::json;

use crate::support::{BINDING_VERSIONS, listen};

#[tokio::test]
async fn directive_arrives_over_every_binding_and_version() {
    let handler = |directive: Directive, turn: Turn| async move {
        turn.reply(format!("{}: {}", directive.kind, directive.content)).await
    };
    let authenticate = |headers: &http::HeaderMap| {
        (headers.get("authorization")? == "Bearer t0ken").then(|| Caller::new("alpha"))
    };
    let server = Server::new(EchoAgent::new_agent("echo"))
        .authenticate_with(authenticate)
        .register_swarm_handler(handler);
    let server = listen(server).await;
    // The legacy REST API has no metadata.
    let legacy_rest = (ProtocolBinding::HttpJson, Version::V0_1);
    for (binding, version) in BINDING_VERSIONS.into_iter().filter(|it| *it != legacy_rest) {
        let client = Client::builder(format!("http://{}/a2a", server.address()))
            .credentials(Credentials::bearer(Secret::new("t0ken")).unwrap())
            .bindings([binding.clone()])
            .versions([version])
            .build()
            .unwrap();
        let directive = Directive::new(DirectiveKind::SyncState, json!({"clock": 7}));
        let SendMessageResponse::Task(task) = client.send_directive(directive).await.unwrap()
        else {
            panic!("no task over {binding:?} of {version}");
        };
        assert_eq!(task.status.state, TaskState::Completed, "{binding:?} of {version}");
        assert_eq!(task.text(), r#"sync_state: {"clock":7}"#, "{binding:?} of {version}");
    }
}
