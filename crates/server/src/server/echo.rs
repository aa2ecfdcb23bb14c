//! Agent that repeats messages.

use latimer_protocol::card::{AgentCard, AgentSkill};

use crate::agent::Agent;
use crate::turn::Turn;

pub(super) fn agent() -> Agent {
    let card = AgentCard {
        name: "echo".into(),
        description: "Repeats the message".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        skills: vec![AgentSkill {
            id: "echo".into(),
            name: "Echo".into(),
            description: "Repeats the message".into(),
            tags: vec!["echo".into()],
            examples: vec!["hello".into()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    };
    let echo = |turn: Turn| async move { turn.reply(turn.text()).await };
    Agent::from_fn("echo", echo).with_card(card)
}
