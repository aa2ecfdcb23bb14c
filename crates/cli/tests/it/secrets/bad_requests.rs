//! Invalid requests that contain a secret.

use serde_json::json;

use super::fixture::Fixture;
use super::requests;

/// Sends invalid requests of an authenticated caller over every binding.
pub(super) fn send_bad_requests(fixture: &mut Fixture, owner: &str, task: &str) {
    let secret = fixture.secret("token in a bad request");
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
        let response = fixture.call("CreateTaskPushNotificationConfig", &config, owner);
        assert!(response["error"]["code"].is_i64(), "{bad}: {response}");
        let v0_3_config = json!({"taskId": task, "pushNotificationConfig": bad});
        fixture.call("tasks/pushNotificationConfig/set", &v0_3_config, owner);
        let request_line = format!("POST /a2a/tasks/{task}/pushNotificationConfigs");
        let response =
            fixture.http(&request_line, &format!("{owner}A2A-Version: 1.0\r\n"), &bad.to_string());
        let text = String::from_utf8_lossy(&response);
        assert!(text.starts_with("HTTP/1.1 400"), "{bad}: {text}");
        let message =
            json!({"messageId": "m4", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
        let params =
            json!({"message": message, "configuration": {"taskPushNotificationConfig": bad}});
        fixture.call("SendMessage", &params, owner);
    }
    let truncated =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"token":"{secret}"#);
    for (request, body) in [
        ("POST /a2a", truncated.as_str()),
        ("POST /a2a/message:send", &truncated),
        ("POST /v1/message:send", &truncated),
        ("POST /a2a", &format!("token={secret}")),
        ("POST /a2a", &format!("{{\"method\":\"SendMessage\",\"params\":\"{secret}\"}}")),
        ("POST /a2a", &format!("[\"{secret}\"]")),
        ("POST /a2a", &format!("\"\\u{{1}}{secret}\"")),
        (&format!("GET /a2a/tasks?pageSize={secret}"), ""),
        (&format!("GET /a2a/tasks?historyLength={secret}"), ""),
        (&format!("GET /a2a/tasks?pageToken={secret}"), ""),
    ] {
        let response = fixture.http(request, &format!("{owner}A2A-Version: 1.0\r\n"), body);
        assert!(!response.is_empty(), "{request}");
    }
    let header_pairs: Vec<_> = owner.lines().filter_map(|it| it.split_once(": ")).collect();
    let config = |url: &str| {
        let fields = [(3, task), (4, url), (5, &secret)];
        fields
            .iter()
            .flat_map(|(number, text)| requests::protobuf_field(*number, text.as_bytes()))
            .collect()
    };
    let messages: [Vec<u8>; 4] = [
        config(&format!("http://user:{secret}@127.0.0.1/")),
        config(&format!("https://169.254.169.254/{secret}")),
        [&[0x2a, 0x7f], secret.as_bytes()].concat(),
        [&[0x2b], secret.as_bytes()].concat(),
    ];
    for message in messages {
        let method = "lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig";
        let response = requests::grpc_request(&fixture.address(), method, &header_pairs, &message);
        assert!(!String::from_utf8_lossy(&response).contains("\"grpc-status\": \"0\""));
        fixture.record_output("gRPC with a bad webhook", response);
    }
    // Webhooks are visible to their owner only.
    for headers in fixture.valid_credentials() {
        if headers != owner {
            let response =
                fixture.call("ListTaskPushNotificationConfigs", &json!({"taskId": task}), &headers);
            assert_eq!(response["error"]["code"], -32001, "{response}");
        }
    }
}
