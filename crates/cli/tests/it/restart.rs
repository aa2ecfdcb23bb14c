//! A server that is killed and started again.

use rustix::process::Signal;

use crate::program::Place;

#[test]
fn a_killed_server_goes_on_where_it_was() {
    let place = Place::new();
    let arguments = ["demo-server", "--listen", "127.0.0.1:0", "--store", "tasks.db"];
    let mut first = place.serve(&arguments);
    let chunks = first.send("m1", "chunks 12 100", true);
    let asked = first.send("m2", "ask Which city?", false);
    first.until(&chunks, |it| {
        it["artifacts"][0]["parts"].as_array().is_some_and(|it| it.len() >= 3)
    });
    first.signal(Signal::KILL);
    first.end();

    let second = place.serve(&arguments);
    assert!(second.greeting.contains("1 task taken over"), "{}", second.greeting);
    let done = second.until(&chunks, |it| it["status"]["state"] == "TASK_STATE_COMPLETED");
    let parts = done["artifacts"][0]["parts"].as_array().unwrap();
    let texts: Vec<_> = parts.iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    let want: Vec<_> = (1..=12).map(|it| format!("chunk {it} of 12\n")).collect();
    assert_eq!(texts, want);
    assert_eq!(second.get(&asked)["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}
