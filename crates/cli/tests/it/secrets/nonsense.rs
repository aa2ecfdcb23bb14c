//! Requests with a secret where it does not fit.

use serde_json::json;

use super::ask;
use super::scene::Scene;

/// From somebody who may ask, in every binding.
pub(super) fn send(scene: &mut Scene, owner: &str, task: &str) {
    let secret = scene.secret("token in a bad request");
    for bad in [
        json!({"url": "http://127.0.0.1:1/", "token": {secret.as_str(): 1}}),
        json!({"url": "http://127.0.0.1:1/", "token": [secret]}),
        json!({"url": "http://127.0.0.1:1/", "token": format!("{secret}\r\nX-More: 1")}),
        json!({"url": "http://127.0.0.1:1/", "authentication": secret}),
        json!({"url": "http://127.0.0.1:1/", "authentication": {"credentials": secret}}),
        json!({"url": "http://127.0.0.1:1/", "authentication": {"scheme": {"x": secret}}}),
        json!({"url": "http://127.0.0.1:1/", "authentication": {"scheme": "a\nb", "credentials": secret}}),
        json!({"url": {"to": secret}}),
        json!({"url": secret}),
        json!({"url": format!("ftp://127.0.0.1/{secret}")}),
        json!({"url": format!("http://user:{secret}@127.0.0.1/")}),
        json!({"url": format!("https://169.254.169.254/{secret}")}),
        json!({"url": format!("https://[::1/{secret}")}),
    ] {
        let mut config = bad.clone();
        config["taskId"] = json!(task);
        let answer = scene.call("CreateTaskPushNotificationConfig", &config, owner);
        assert!(answer["error"]["code"].is_i64(), "{bad}: {answer}");
        let older = json!({"taskId": task, "pushNotificationConfig": bad});
        scene.call("tasks/pushNotificationConfig/set", &older, owner);
        let at = format!("POST /a2a/tasks/{task}/pushNotificationConfigs");
        let answer = scene.http(&at, &format!("{owner}A2A-Version: 1.0\r\n"), &bad.to_string());
        let text = String::from_utf8_lossy(&answer);
        assert!(text.starts_with("HTTP/1.1 400"), "{bad}: {text}");
        let message =
            json!({"messageId": "m4", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
        let with =
            json!({"message": message, "configuration": {"taskPushNotificationConfig": bad}});
        scene.call("SendMessage", &with, owner);
    }
    let cut =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"token":"{secret}"#);
    for (request, body) in [
        ("POST /a2a", cut.as_str()),
        ("POST /a2a/message:send", &cut),
        ("POST /v1/message:send", &cut),
        ("POST /a2a", &format!("token={secret}")),
        ("POST /a2a", &format!("{{\"method\":\"SendMessage\",\"params\":\"{secret}\"}}")),
        ("POST /a2a", &format!("[\"{secret}\"]")),
        ("POST /a2a", &format!("\"\\u{{1}}{secret}\"")),
        (&format!("GET /a2a/tasks?pageSize={secret}"), ""),
        (&format!("GET /a2a/tasks?historyLength={secret}"), ""),
        (&format!("GET /a2a/tasks?pageToken={secret}"), ""),
    ] {
        let answer = scene.http(request, &format!("{owner}A2A-Version: 1.0\r\n"), body);
        assert!(!answer.is_empty(), "{request}");
    }
    let shown: Vec<_> = owner.lines().filter_map(|it| it.split_once(": ")).collect();
    let config = |url: &str| {
        let fields = [(3, task), (4, url), (5, &secret)];
        fields.iter().flat_map(|(number, text)| ask::field(*number, text.as_bytes())).collect()
    };
    let messages: [Vec<u8>; 4] = [
        config(&format!("http://user:{secret}@127.0.0.1/")),
        config(&format!("https://169.254.169.254/{secret}")),
        [&[0x2a, 0x7f], secret.as_bytes()].concat(),
        [&[0x2b], secret.as_bytes()].concat(),
    ];
    for message in messages {
        let method = "lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig";
        let answer = ask::grpc(&scene.address(), method, &shown, &message);
        assert!(!String::from_utf8_lossy(&answer).contains("\"grpc-status\": \"0\""));
        scene.keep("gRPC with a bad webhook", answer);
    }
    // What is somebody else's is nobody's business.
    for headers in scene.rightly() {
        if headers != owner {
            let answer =
                scene.call("ListTaskPushNotificationConfigs", &json!({"taskId": task}), &headers);
            assert_eq!(answer["error"]["code"], -32001, "{answer}");
        }
    }
}
