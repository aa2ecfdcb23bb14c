//! Names: a task belongs to its caller and its agent.

use std::collections::HashSet;

use latimer_protocol::TaskState;

use super::Home;
use super::script::{ROOMY, Script, append};

pub(super) async fn callers_and_agents_have_tasks_of_their_own(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut scripts = Vec::new();
    for (number, caller) in ["", "a", "a/b", "b"].into_iter().enumerate() {
        for agent in ["x", "b/x", "y"] {
            let mut script = Script::of(caller, agent, "t");
            append(&*store, script.create(1)).await;
            append(&*store, script.grow(&format!("{number} {agent}"))).await;
            scripts.push(script);
        }
    }
    for script in scripts.iter_mut().step_by(2) {
        append(&*store, script.change(TaskState::Completed, 2)).await;
    }
    for script in scripts {
        script.check(&*store).await;
    }
}

pub(super) async fn tasks_are_located_by_caller_and_id(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for (caller, agent, id) in
        [("a", "x", "t"), ("a", "y", "t"), ("a", "z", "u"), ("b", "w", "t"), ("", "v", "t")]
    {
        append(&*store, Script::of(caller, agent, id).create(1)).await;
    }
    for (caller, id, want) in [
        ("a", "t", vec!["x", "y"]),
        ("a", "u", vec!["z"]),
        ("b", "t", vec!["w"]),
        ("", "t", vec!["v"]),
        ("b", "u", vec![]),
        ("c", "t", vec![]),
    ] {
        let key = Script::of(caller, "", id).key;
        let agents = store.locate(caller, &key.id).await.expect("locates");
        assert_eq!(agents.len(), want.len(), "agents of {caller:?} with {id}: {agents:?}");
        let agents: HashSet<&str> = agents.iter().map(|it| &**it).collect();
        assert_eq!(agents, want.into_iter().collect(), "agents of {caller:?} with {id}");
    }
}
