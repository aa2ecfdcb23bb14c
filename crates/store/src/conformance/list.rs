//! Lists.

use std::sync::Arc;

use latimer_protocol::{Task, TaskState};

use super::Home;
use super::script::{ROOMY, Script, all_of, append, context, time};
use crate::{Page, Query, TaskStore};

pub(super) async fn the_latest_comes_first(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for (id, at) in [("b", 2), ("d", 4), ("a", 1), ("c", 3)] {
        append(&*store, Script::new(id).create(at)).await;
    }
    let page = list(&*store, &all_of("caller")).await;
    assert_eq!((ids(&page), page.total, page.next), ("d c b a".to_owned(), 4, None));
}

pub(super) async fn of_equal_times_the_greater_id_comes_first(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for (agent, id) in
        [("x", "a"), ("x", "ab"), ("x", "B"), ("x", "é"), ("x", "z"), ("x", "10"), ("x", "9")]
    {
        append(&*store, Script::of("caller", agent, id).create(1)).await;
    }
    let page = list(&*store, &all_of("caller")).await;
    assert_eq!(ids(&page), "é z ab a B 9 10", "by the bytes of their ids");
    // Of equal ids the greater agent: their conversations tell them apart.
    for agent in ["m", "z", "a"] {
        let mut script = Script::of("other", agent, "t").in_context(agent);
        append(&*store, script.create(1)).await;
    }
    let mut query = Query { limit: 1, ..all_of("other") };
    let mut agents = String::new();
    loop {
        let page = list(&*store, &query).await;
        agents.extend(
            page.tasks.iter().filter_map(|it| it.context_id.as_ref()).map(|it| it.as_str()),
        );
        query.behind = page.next;
        if query.behind.is_none() {
            break;
        }
    }
    assert_eq!(agents, "zma", "the greater agent comes first");
}

pub(super) async fn a_change_of_status_moves_a_task_to_the_front(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("a");
    append(&*store, script.create(1)).await;
    append(&*store, Script::new("b").create(2)).await;
    append(&*store, script.grow("no change of status")).await;
    assert_eq!(ids(&list(&*store, &all_of("caller")).await), "b a");
    append(&*store, script.change(TaskState::Working, 3)).await;
    assert_eq!(ids(&list(&*store, &all_of("caller")).await), "a b");
    append(&*store, script.change(TaskState::Completed, 4)).await;
    assert_eq!(ids(&list(&*store, &all_of("caller")).await), "a b");
}

pub(super) async fn each_filter_holds(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for (id, agent, place, state, at) in [
        ("a", "x", "c1", TaskState::Completed, 1),
        ("b", "x", "c2", TaskState::Working, 2),
        ("c", "y", "c1", TaskState::Working, 3),
        ("d", "y", "c2", TaskState::Completed, 4),
        ("e", "x", "c1", TaskState::InputRequired, 5),
    ] {
        let mut script = Script::of("caller", agent, id).in_context(place);
        append(&*store, script.create(at)).await;
        append(&*store, script.change(state, at)).await;
    }
    let all = || all_of("caller");
    let in_c1 = || Query { context: Some(context("c1")), ..all() };
    for (query, want) in [
        (all(), "e d c b a"),
        (Query { agent: Some("x".into()), ..all() }, "e b a"),
        (Query { agent: Some("z".into()), ..all() }, ""),
        (Query { except: vec!["x".into()], ..all() }, "d c"),
        (Query { except: vec!["z".into(), "y".into()], ..in_c1() }, "e a"),
        (Query { except: vec!["x".into(), "y".into()], ..all() }, ""),
        (in_c1(), "e c a"),
        (Query { state: Some(TaskState::Working), ..all() }, "c b"),
        (Query { state: Some(TaskState::Failed), ..all() }, ""),
        (Query { updated_since: Some(time(3)), ..all() }, "e d c"),
        (Query { updated_since: Some(time(6)), ..all() }, ""),
        (Query { updated_since: Some(time(-9)), ..all() }, "e d c b a"),
        (Query { state: Some(TaskState::Working), ..in_c1() }, "c"),
        (Query { agent: Some("y".into()), updated_since: Some(time(4)), ..all() }, "d"),
        (Query { agent: Some("x".into()), updated_since: Some(time(2)), ..in_c1() }, "e"),
    ] {
        let page = list(&*store, &query).await;
        assert_eq!(ids(&page), want, "{query:?}");
        assert_eq!(page.total, page.tasks.len() as u64, "the total of {query:?}");
    }
}

pub(super) async fn pages_join_without_gaps(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for number in 0..12 {
        let agent = if number % 2 == 0 { "x" } else { "y" };
        let mut script = Script::of("caller", agent, &format!("t{number:02}"));
        append(&*store, script.create(number / 5)).await;
    }
    append(&*store, Script::of("other", "x", "t00").create(1)).await;
    for filter in [all_of("caller"), Query { agent: Some("x".into()), ..all_of("caller") }] {
        let whole = list(&*store, &filter).await;
        for limit in [1, 2, 3, 5, 6, 11, 12, 13] {
            let mut query = Query { limit, ..filter.clone() };
            let mut tasks: Vec<Arc<Task>> = Vec::new();
            loop {
                let page = list(&*store, &query).await;
                assert_eq!(page.total, whole.total, "the total is that of all pages");
                assert!(!page.tasks.is_empty(), "no page but the first is empty");
                tasks.extend(page.tasks);
                query.behind = page.next;
                if query.behind.is_none() {
                    break;
                }
            }
            assert_eq!(tasks, whole.tasks, "pages of {limit}");
        }
    }
}

pub(super) async fn nobody_sees_the_tasks_of_others(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    for caller in ["", "a", "ab", "A", "a%", "a_"] {
        append(&*store, Script::of(caller, "x", "t").in_context(&format!("of {caller}")).create(1))
            .await;
    }
    for caller in ["", "a", "ab", "A", "a%", "a_"] {
        let page = list(&*store, &all_of(caller)).await;
        assert_eq!((page.tasks.len(), page.total), (1, 1), "the tasks of {caller:?}");
        assert_eq!(page.tasks[0].context_id, Some(context(&format!("of {caller}"))));
    }
    for caller in ["b", "a\0", "%", "a/x"] {
        assert_eq!(list(&*store, &all_of(caller)).await, Page::default(), "{caller:?} has none");
    }
}

pub(super) async fn a_list_shows_tasks_as_they_stand(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut scripts = [Script::new("a"), Script::new("b"), Script::new("c")];
    for (at, script) in (1..).zip(&mut scripts) {
        append(&*store, script.create(at)).await;
        for round in 0..at * 4 {
            append(&*store, script.grow(&round.to_string())).await;
        }
    }
    append(&*store, scripts[2].change(TaskState::Completed, 9)).await;
    let page = list(&*store, &all_of("caller")).await;
    let want: Vec<_> = scripts.iter().rev().map(|it| it.stored().task).collect();
    assert_eq!(page.tasks, want, "what is listed is what is loaded");
}

async fn list(store: &dyn TaskStore, query: &Query) -> Page {
    store.list(query).await.expect("the store lists")
}

fn ids(page: &Page) -> String {
    page.tasks.iter().map(|it| it.id.as_str()).collect::<Vec<_>>().join(" ")
}
