//! Rules about lists.

use std::sync::Arc;

use latimer_protocol::{Task, TaskState};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, context, query_all, time};
use crate::{TaskPage, TaskQuery, TaskStore};

pub(super) async fn list_is_sorted_latest_first(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (id, at) in [("b", 2), ("d", 4), ("a", 1), ("c", 3)] {
        append(&*store, Script::new(id).create(at)).await;
    }
    let page = list(&*store, &query_all("caller")).await;
    assert_eq!((ids(&page), page.total, page.next), ("d c b a".to_owned(), 4, None));
}

pub(super) async fn list_breaks_ties_by_descending_id_and_agent(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (agent, id) in
        [("x", "a"), ("x", "ab"), ("x", "B"), ("x", "é"), ("x", "z"), ("x", "10"), ("x", "9")]
    {
        append(&*store, Script::for_key("caller", agent, id).create(1)).await;
    }
    let page = list(&*store, &query_all("caller")).await;
    assert_eq!(ids(&page), "é z ab a B 9 10", "ids are compared by bytes");
    // Equal ids are sorted by agent; the context id identifies the task.
    for agent in ["m", "z", "a"] {
        let mut script = Script::for_key("other", agent, "t").with_context(agent);
        append(&*store, script.create(1)).await;
    }
    let mut query = TaskQuery { limit: 1, ..query_all("other") };
    let mut agents = String::new();
    loop {
        let page = list(&*store, &query).await;
        agents.extend(
            page.tasks.iter().filter_map(|it| it.context_id.as_ref()).map(|it| it.as_str()),
        );
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(agents, "zma", "agents are sorted descending");
}

pub(super) async fn status_change_moves_task_to_front(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("a");
    append(&*store, script.create(1)).await;
    append(&*store, Script::new("b").create(2)).await;
    append(&*store, script.append_chunk("no status change")).await;
    assert_eq!(ids(&list(&*store, &query_all("caller")).await), "b a");
    append(&*store, script.set_status(TaskState::Working, 3)).await;
    assert_eq!(ids(&list(&*store, &query_all("caller")).await), "a b");
    append(&*store, script.set_status(TaskState::Completed, 4)).await;
    assert_eq!(ids(&list(&*store, &query_all("caller")).await), "a b");
}

pub(super) async fn list_applies_every_filter(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (id, agent, context_name, state, at) in [
        ("a", "x", "c1", TaskState::Completed, 1),
        ("b", "x", "c2", TaskState::Working, 2),
        ("c", "y", "c1", TaskState::Working, 3),
        ("d", "y", "c2", TaskState::Completed, 4),
        ("e", "x", "c1", TaskState::InputRequired, 5),
    ] {
        let mut script = Script::for_key("caller", agent, id).with_context(context_name);
        append(&*store, script.create(at)).await;
        append(&*store, script.set_status(state, at)).await;
    }
    let all = || query_all("caller");
    let in_c1 = || TaskQuery { context: Some(context("c1")), ..all() };
    for (query, want) in [
        (all(), "e d c b a"),
        (TaskQuery { agent: Some("x".into()), ..all() }, "e b a"),
        (TaskQuery { agent: Some("z".into()), ..all() }, ""),
        (TaskQuery { excluded_agents: vec!["x".into()], ..all() }, "d c"),
        (TaskQuery { excluded_agents: vec!["z".into(), "y".into()], ..in_c1() }, "e a"),
        (TaskQuery { excluded_agents: vec!["x".into(), "y".into()], ..all() }, ""),
        (in_c1(), "e c a"),
        (TaskQuery { state: Some(TaskState::Working), ..all() }, "c b"),
        (TaskQuery { state: Some(TaskState::Failed), ..all() }, ""),
        (TaskQuery { status_changed_since: Some(time(3)), ..all() }, "e d c"),
        (TaskQuery { status_changed_since: Some(time(6)), ..all() }, ""),
        (TaskQuery { status_changed_since: Some(time(-9)), ..all() }, "e d c b a"),
        (TaskQuery { state: Some(TaskState::Working), ..in_c1() }, "c"),
        (TaskQuery { agent: Some("y".into()), status_changed_since: Some(time(4)), ..all() }, "d"),
        (
            TaskQuery { agent: Some("x".into()), status_changed_since: Some(time(2)), ..in_c1() },
            "e",
        ),
    ] {
        let page = list(&*store, &query).await;
        assert_eq!(ids(&page), want, "{query:?}");
        assert_eq!(page.total, page.tasks.len() as u64, "the total of {query:?}");
    }
}

pub(super) async fn list_pages_have_no_gaps(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for number in 0..12 {
        let agent = if number % 2 == 0 { "x" } else { "y" };
        let mut script = Script::for_key("caller", agent, &format!("t{number:02}"));
        append(&*store, script.create(number / 5)).await;
    }
    append(&*store, Script::for_key("other", "x", "t00").create(1)).await;
    for filter in
        [query_all("caller"), TaskQuery { agent: Some("x".into()), ..query_all("caller") }]
    {
        let complete = list(&*store, &filter).await;
        for limit in [1, 2, 3, 5, 6, 11, 12, 13] {
            let mut query = TaskQuery { limit, ..filter.clone() };
            let mut tasks: Vec<Arc<Task>> = Vec::new();
            loop {
                let page = list(&*store, &query).await;
                assert_eq!(page.total, complete.total, "the total covers all pages");
                assert!(!page.tasks.is_empty(), "only the first page may be empty");
                tasks.extend(page.tasks);
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
            assert_eq!(tasks, complete.tasks, "pages of {limit}");
        }
    }
}

pub(super) async fn list_returns_only_tasks_of_owner(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for caller in ["", "a", "ab", "A", "a%", "a_"] {
        append(
            &*store,
            Script::for_key(caller, "x", "t").with_context(&format!("of {caller}")).create(1),
        )
        .await;
    }
    for caller in ["", "a", "ab", "A", "a%", "a_"] {
        let page = list(&*store, &query_all(caller)).await;
        assert_eq!((page.tasks.len(), page.total), (1, 1), "the tasks of {caller:?}");
        assert_eq!(page.tasks[0].context_id, Some(context(&format!("of {caller}"))));
    }
    for caller in ["b", "a\0", "%", "a/x"] {
        assert_eq!(
            list(&*store, &query_all(caller)).await,
            TaskPage::default(),
            "{caller:?} has no tasks"
        );
    }
}

pub(super) async fn listed_tasks_equal_loaded_tasks(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut scripts = [Script::new("a"), Script::new("b"), Script::new("c")];
    for (at, script) in (1..).zip(&mut scripts) {
        append(&*store, script.create(at)).await;
        for round in 0..at * 4 {
            append(&*store, script.append_chunk(&round.to_string())).await;
        }
    }
    append(&*store, scripts[2].set_status(TaskState::Completed, 9)).await;
    let page = list(&*store, &query_all("caller")).await;
    let want: Vec<_> = scripts.iter().rev().map(|it| it.stored_task().task).collect();
    assert_eq!(page.tasks, want, "listed tasks equal loaded tasks");
}

async fn list(store: &dyn TaskStore, query: &TaskQuery) -> TaskPage {
    store.list(query).await.expect("list succeeds")
}

fn ids(page: &TaskPage) -> String {
    page.tasks.iter().map(|it| it.id.as_str()).collect::<Vec<_>>().join(" ")
}
