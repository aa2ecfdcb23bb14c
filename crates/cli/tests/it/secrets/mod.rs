//! Secrets never appear: not in logs at any level, errors, answers to others, files or what is shown.
//!
//! A secret stands in every place that takes one, right and wrong. Whoever registered a webhook may
//! read it back; everything else that anybody could see is searched for all of them.

mod ask;
mod broken;
mod issuer;
mod nonsense;
mod planted;
mod scene;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::push::receiver::Mood;
use scene::Scene;

#[test]
fn secrets_never_appear() {
    for format in ["text", "json"] {
        let mut scene = Scene::new(format);
        let mut server = scene.serve("first.log");
        let owner = scene.owner();
        let task = register(&mut scene, &owner);
        show_everything(&mut scene);
        be_refused(&mut scene);
        nonsense::send(&mut scene, &owner, &task);
        scene.until_dead_letters(4);
        operate(&mut scene);
        // As it is left, and taken up again.
        scene.keep_files("running");
        server.signal(Signal::KILL);
        server.end();
        scene.keep("stdout of the first", server.greeting.clone() + &server.last_words());
        scene.keep_files("killed");
        let mut server = scene.serve("second.log");
        scene.receiver.set(Mood::Well);
        scene.run(&["push", "dead", "replay", "--all", "--url", &scene.url()]);
        server.signal(Signal::TERM);
        assert!(server.end().success());
        scene.keep("stdout of the second", server.greeting.clone() + &server.last_words());
        scene.run(&["push", "dead", "list"]);
        scene.keep_files("stopped");

        delivered_with_all_of_it(&mut scene);
        for words in
            ["delivery given up", "not delivered", "call answered", "going on with webhooks"]
        {
            assert!(scene.has(words), "the log says everything: {words}");
        }
        assert_eq!(scene.has(r#""message":"call answered""#), format == "json");
        scene.assert_clean();
    }
}

/// Webhooks with all that they can have, one with each task: by the owner alone.
fn register(scene: &mut Scene, owner: &str) -> String {
    let url = format!("hooks/{}?key={}", scene.secret("path"), scene.secret("query"));
    let url = scene.receiver.url(&url);
    let token = scene.secret("token of a webhook");
    let credentials = scene.secret("credentials of a webhook");
    let authentication = json!({"scheme": "Bearer", "credentials": credentials});
    let inline = json!({"url": url, "token": token, "authentication": authentication});
    let message = json!({"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
    let configuration = json!({"taskPushNotificationConfig": inline});
    let params = json!({"message": message, "configuration": configuration});
    let sent = scene.call("SendMessage", &params, owner);
    let task = sent["result"]["task"]["id"].as_str().expect("a task").to_owned();
    let more = json!({"taskId": task, "id": "second", "url": url, "token": token});
    // What it shows is shown to whoever said it.
    scene.call_unseen("CreateTaskPushNotificationConfig", &more, owner);
    let ask = json!({"taskId": task, "id": "second"});
    let mine = scene.call_unseen("GetTaskPushNotificationConfig", &ask, owner);
    assert_eq!((&mine["result"]["url"], &mine["result"]["token"]), (&json!(url), &json!(token)));
    // It goes on, so that it is taken up by the next process.
    let message =
        json!({"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "wait 60000"}]});
    let configuration = json!({"taskPushNotificationConfig": inline, "returnImmediately": true});
    scene.call("SendMessage", &json!({"message": message, "configuration": configuration}), owner);
    // A program sees nothing of what the server knows.
    let message = json!({"messageId": "m3", "role": "ROLE_USER", "parts": [{"text": "go"}]});
    let ran = scene.call("SendMessage", &json!({"message": message, "tenant": "env"}), owner);
    assert!(ran.to_string().contains("PATH="), "{ran}");
    task
}

/// What there is to see for callers of all kinds, and for nobody in particular.
fn show_everything(scene: &mut Scene) {
    let cookie = format!("Cookie: session={}\r\n", scene.secret("cookie"));
    for headers in scene.rightly().into_iter().chain([String::new()]) {
        let headers = headers + &cookie;
        let query = scene.secret("token in an address");
        for request in [
            "GET /.well-known/agent-card.json",
            "GET /.well-known/agent.json",
            "GET /.well-known/jwks.json",
            "GET /a2a/agents",
            "GET /a2a/extendedAgentCard",
            "GET /a2a/tasks",
            "GET /health",
            "GET /ready",
            "GET /metrics",
            "GET /api/push/dead",
            "DELETE /api/push/dead/none",
            "GET /nowhere",
            "TRACE /a2a",
            "OPTIONS /a2a",
        ] {
            scene.http(request, &headers, "");
            scene.http(&format!("{request}?access_token={query}"), &headers, "");
        }
        let first = json!({"method": "GetTask", "id": 1, "params": {"id": "none"}});
        scene.http("POST /a2a", &headers, &first.to_string());
    }
}

/// Wrong credentials in every binding.
fn be_refused(scene: &mut Scene) {
    let address = scene.address();
    for headers in scene.wrongly() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        for (request, body) in [
            ("POST /a2a", call.to_string()),
            ("POST /v1/rpc", call.to_string()),
            ("POST /a2a/message:send", json!({"message": {}}).to_string()),
            ("GET /a2a/tasks", String::new()),
            ("POST /v1/message:send", json!({"message": {}}).to_string()),
            ("POST /a2a/tasks/send", json!({"message": {}}).to_string()),
            ("GET /metrics", String::new()),
            ("GET /api/push/dead", String::new()),
            ("GET /a2a/extendedAgentCard", String::new()),
        ] {
            let answer = scene.http(request, &headers, &body);
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with("HTTP/1.1 4"), "{request}\n{headers}{answer}");
        }
        let shown: Vec<_> = headers.lines().filter_map(|it| it.split_once(": ")).collect();
        for method in ["lf.a2a.v1.A2AService/ListTasks", "a2a.v1.A2AService/GetTask"] {
            let answer = ask::grpc(&address, method, &shown, &[]);
            scene.keep(format!("gRPC {method}"), answer);
        }
    }
    let path = format!("/no path?access_token={}", scene.secret("token in what is no path"));
    let answer = ask::exchange(&address, &ask::no_path(&path));
    scene.keep("HTTP/2 for no path", answer);
}

/// What an operator sees of it, with the key and without.
fn operate(scene: &mut Scene) {
    let url = scene.url();
    let list = scene.run(&["push", "dead", "list", "--output", "json", "--url", &url]);
    let letters: Vec<Value> = serde_json::from_str(&list.out).expect("letters");
    let id = letters[0]["id"].as_str().unwrap();
    scene.run(&["push", "dead", "list", "--url", &url]);
    let ran = scene.run(&["push", "dead", "replay", id, "--url", &url]);
    assert!(ran.errors.contains("503"), "{ran:?}");
    let password = scene.secret("password in the address of a server");
    let with = url.replace("http://", &format!("http://me:{password}@"));
    assert_eq!(scene.run(&["push", "dead", "list", "--url", &with]).code, Some(1));
    let wrong = scene.secret("wrong key of an operator");
    let stranger = crate::program::Place::new().variable("LATIMER_API_KEY", &wrong);
    for url in [&url, "http://127.0.0.1:1", &with] {
        let ran = stranger.run(&["push", "dead", "list", "--url", url]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        scene.keep("a stranger", format!("{ran:?}"));
    }
    for command in [
        &["config", "check"][..],
        &["config", "show"],
        &["config", "show", "--output", "json"],
        &["serve", "--check"],
        &["serve"],
        &["--help"],
        &["serve", "--help"],
    ] {
        scene.run(command);
    }
    assert!(scene.has("(hidden)"));
}

/// None of it was left out where it belongs.
fn delivered_with_all_of_it(scene: &mut Scene) {
    let taken = scene.receiver.taken();
    let (path, taken) = taken.iter().next().expect("a delivery");
    for secret in ["path", "query"] {
        assert!(path.contains(&scene.secret(secret)), "{path}");
    }
    for secret in ["token of a webhook", "credentials of a webhook"] {
        let secret = scene.secret(secret);
        assert!(taken.iter().any(|it| it.head.contains(&secret)), "{taken:?}");
    }
}
