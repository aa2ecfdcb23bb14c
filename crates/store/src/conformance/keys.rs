//! Rules about keys: task ids are unique per owner and agent.

use std::collections::HashSet;

use latimer_protocol::TaskState;

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append};

pub(super) async fn same_task_id_is_separate_per_owner_and_agent(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut scripts = Vec::new();
    for (number, caller) in ["", "a", "a/b", "b"].into_iter().enumerate() {
        for agent in ["x", "b/x", "y"] {
            let mut script = Script::for_key(caller, agent, "t");
            append(&*store, script.create(1)).await;
            append(&*store, script.append_chunk(&format!("{number} {agent}"))).await;
            scripts.push(script);
        }
    }
    for script in scripts.iter_mut().step_by(2) {
        append(&*store, script.set_status(TaskState::Completed, 2)).await;
    }
    for script in scripts {
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn agents_are_found_by_owner_and_task_id(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (caller, agent, id) in
        [("a", "x", "t"), ("a", "y", "t"), ("a", "z", "u"), ("b", "w", "t"), ("", "v", "t")]
    {
        append(&*store, Script::for_key(caller, agent, id).create(1)).await;
    }
    for (caller, id, want) in [
        ("a", "t", vec!["x", "y"]),
        ("a", "u", vec!["z"]),
        ("b", "t", vec!["w"]),
        ("", "t", vec!["v"]),
        ("b", "u", vec![]),
        ("c", "t", vec![]),
    ] {
        let key = Script::for_key(caller, "", id).key;
        let agents = store.find_agents(caller, &key.id).await.expect("lookup succeeds");
        assert_eq!(agents.len(), want.len(), "agents of {caller:?} with {id}: {agents:?}");
        let agents: HashSet<&str> = agents.iter().map(|it| &**it).collect();
        assert_eq!(agents, want.into_iter().collect(), "agents of {caller:?} with {id}");
    }
}
