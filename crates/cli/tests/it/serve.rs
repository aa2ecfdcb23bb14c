//! `latimer serve`, end to end.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::program::{Place, is_gone};

const ANYWHERE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[test]
fn without_anything_an_echo_is_served_and_the_printed_command_calls_it() {
    let place = Place::new();
    let mut serving = place.serve(&ANYWHERE);
    for want in ["no configuration file", "agent  echo", "/.well-known/agent-card.json", "sqlite"] {
        assert!(serving.greeting.contains(want), "{want}\n{}", serving.greeting);
    }
    assert!(place.path(".local/share/latimer/latimer.db").is_file());
    let task = serving.send("m0", "hello", false);
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello");
    let command = serving.invitation();
    // Only where it is installed can it be tried.
    if Command::new("curl").arg("--version").output().is_ok() {
        let ran = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        let answer = String::from_utf8(ran.stdout).unwrap();
        assert!(answer.contains("TASK_STATE_COMPLETED"), "{command}\n{answer}");
    }
    serving.signal(Signal::TERM);
    assert_eq!(serving.end().code(), Some(0));
}

#[test]
fn a_printed_command_asks_for_the_key_when_there_is_one() {
    let place = Place::new().variable("LATIMER__API_KEY", "sesame");
    let mut serving = place.serve(&ANYWHERE);
    assert!(serving.greeting.contains("1 from the environment"), "{}", serving.greeting);
    let command = serving.invitation();
    assert!(command.contains("$LATIMER_API_KEY"), "{command}");
    if Command::new("curl").arg("--version").output().is_ok() {
        let mut shell = Command::new("sh");
        let ran = shell.arg("-c").arg(&command).env("LATIMER_API_KEY", "sesame").output().unwrap();
        assert!(String::from_utf8(ran.stdout).unwrap().contains("TASK_STATE_COMPLETED"));
    }
}

#[test]
fn a_program_is_an_agent() {
    let place = Place::new();
    let serving = place.serve(&[&ANYWHERE[..], &["--exec", "tr a-z A-Z"]].concat());
    let task = serving.send("m1", "hello", false);
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HELLO");
    let chunked = [&ANYWHERE[..], &["--exec", "printf 'a,b,c'", "--chunk", ","]].concat();
    drop(serving);
    let serving = place.serve(&chunked);
    let task = serving.send("m1", "go", false);
    let parts = task["artifacts"][0]["parts"].as_array().unwrap().len();
    assert_eq!(parts, 3, "{task}");
}

#[test]
fn options_go_before_the_file() {
    let text = "[[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n\
                [store]\nkind = \"memory\"\n";
    let place = Place::new().file("latimer.toml", text);
    let serving = place.serve(&ANYWHERE);
    assert!(serving.greeting.contains("config latimer.toml"), "{}", serving.greeting);
    assert_eq!(serving.send("m1", "hi", false)["artifacts"][0]["parts"][0]["text"], "HI");
    let serving = place.serve(&[&ANYWHERE[..], &["--echo"]].concat());
    assert_eq!(serving.send("m1", "hi", false)["artifacts"][0]["parts"][0]["text"], "hi");
}

#[test]
fn a_port_that_is_taken_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = Place::new().run(&["serve", "--listen", &address]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.errors.contains(&format!("error: cannot listen at {address}")), "{}", ran.errors);
    assert!(ran.errors.contains("--listen 127.0.0.1:0"), "{}", ran.errors);
}

#[test]
fn a_store_that_is_in_use_names_who_has_it() {
    let place = Place::new();
    let serving = place.serve(&ANYWHERE);
    let ran = place.run(&ANYWHERE);
    assert_eq!(ran.code, Some(1));
    let holder = format!("in use by process {} (latimer serve", serving.pid());
    assert!(ran.errors.contains(&holder), "{}", ran.errors);
    assert!(ran.errors.contains("hint: use that server, or another file: --store FILE"));
    let beside = [&ANYWHERE[..], &["--store", "other.db"]].concat();
    assert!(place.serve(&beside).greeting.contains("other.db"));
}

#[test]
fn a_store_that_was_asked_for_goes_before_that_of_the_file() {
    let place = Place::new().file("latimer.toml", "[store]\nkind = \"memory\"\n");
    let serving = place.serve(&[&ANYWHERE[..], &["--store", "asked.db"]].concat());
    assert!(serving.greeting.contains("asked.db"), "{}", serving.greeting);
}

#[test]
fn a_second_interrupt_ends_it_and_its_programs_at_once() {
    let place = Place::new();
    let mut serving = place.serve(&[&ANYWHERE[..], &["--exec", "echo $$; sleep 60"]].concat());
    let task = serving.send("m1", "go", true);
    let task = serving.until(&task, |it| !it["artifacts"].is_null());
    let program = task["artifacts"][0]["parts"][0]["text"].as_str().unwrap().trim().to_owned();
    serving.signal(Signal::INT);
    serving.until_logged("draining");
    let since = Instant::now();
    serving.signal(Signal::INT);
    assert_eq!(serving.end().code(), Some(130));
    assert!(is_gone(&program), "the program stayed behind");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[test]
fn the_log_is_on_standard_error_and_can_be_json() {
    let place = Place::new().variable("LATIMER_LOG_FORMAT", "json").variable("LATIMER_LOG", "info");
    let mut serving = place.serve(&ANYWHERE);
    let line: serde_json::Value = serde_json::from_str(&serving.until_logged("listening")).unwrap();
    assert_eq!(line["fields"]["address"], serving.address());
    assert!(!serving.greeting.contains("listening"), "{}", serving.greeting);
}

#[test]
fn the_demonstration_needs_no_configuration_and_keeps_nothing() {
    let place = Place::new().file("latimer.toml", "this is no configuration");
    let serving = place.serve(&["demo-server", "--listen", "127.0.0.1:0"]);
    assert!(serving.greeting.contains("memory"), "{}", serving.greeting);
    let task = serving.send("m1", "fail on purpose", false);
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    let card = serving.call("GetExtendedAgentCard", serde_json::json!({}));
    assert!(card["description"].as_str().unwrap().contains("extended"), "{card}");
    assert!(!place.path(".local").exists());
}

#[test]
fn a_demonstration_that_streams_nothing_says_so_and_refuses() {
    for (flags, streams) in [(&[][..], true), (&["--no-streaming"], false)] {
        let place = Place::new();
        let serving = place.serve(&[&["demo-server", "--listen", "127.0.0.1:0"], flags].concat());
        let card = serving.call("GetAgentCard", serde_json::json!({}));
        assert_eq!(card["capabilities"]["streaming"], streams, "{flags:?}");
        let answer = serving.post(
            "/a2a/message:stream",
            r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
        );
        assert_eq!(answer.contains("TASK_STATE_COMPLETED"), streams, "{flags:?}: {answer}");
        assert_eq!(answer.contains("UNSUPPORTED_OPERATION"), !streams, "{flags:?}: {answer}");
        assert_eq!(serving.send("m2", "hi", false)["status"]["state"], "TASK_STATE_COMPLETED");
    }
}
