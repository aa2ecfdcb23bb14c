//! Finds what is wrong with a card as somebody published it, in any version.
//!
//! [`AgentCard::from_json`](super::AgentCard::from_json) makes the best of a card; this complains.

mod card;
mod interface;
mod node;
mod rules;
mod security;
mod signature;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use node::Node;
pub use rules::RULES;

/// Something wrong with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardProblem {
    /// What kind of problem, by a name that stays: one of [`RULES`].
    pub id: &'static str,
    /// Where: a JSON pointer (RFC 6901) into the card. Of something missing, where it would be.
    pub pointer: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl fmt::Display for CardProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = if self.pointer.is_empty() { "the card" } else { &self.pointer };
        write!(out, "{location}: {}", self.message)
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The card works, though not for everybody or not as it should.
    Warning,
    /// The card breaks the specification, and readers may refuse it.
    Error,
}

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardRule {
    /// Its name, which stays.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it means, in one line.
    pub explanation: &'static str,
}

/// Finds what is wrong with a card. The version is told from the card itself: a card with
/// `supportedInterfaces` is one of 1.0, and one with `url` beside them is held to both.
///
/// ```
/// # use latimer_protocol::card::{Severity, validate};
/// # use serde_json::json;
/// let problems = validate(&json!({
///     "name": "a", "description": "b", "version": "1", "url": "/a2a", "protocolVersion": "0.3.0",
///     "capabilities": {}, "skills": [], "defaultInputModes": ["text/plain"],
///     "defaultOutputModes": ["text/plain"],
/// }));
/// assert_eq!(problems[0].id, "card.interface.url.invalid");
/// assert_eq!(problems[0].pointer, "/url");
/// assert_eq!(problems[0].severity, Severity::Error);
/// ```
#[must_use]
pub fn validate(card: &Value) -> Vec<CardProblem> {
    let mut report = Report::default();
    card::check(&Node::root(card), &mut report);
    report.problems
}

/// What has been found so far.
#[derive(Default)]
struct Report {
    problems: Vec<CardProblem>,
}

impl Report {
    /// Adds a problem with `node` itself.
    fn add(&mut self, rule: &CardRule, node: &Node<'_>, message: impl Into<String>) {
        self.add_at(rule, node.pointer().to_owned(), message);
    }

    /// Adds a problem with the member `name` of `node`, there or not.
    fn add_member(
        &mut self,
        rule: &CardRule,
        node: &Node<'_>,
        name: &str,
        message: impl Into<String>,
    ) {
        self.add_at(rule, node.pointer_to(name), message);
    }

    fn add_at(&mut self, rule: &CardRule, pointer: String, message: impl Into<String>) {
        let CardRule { id, severity, .. } = *rule;
        self.problems.push(CardProblem { id, pointer, severity, message: message.into() });
    }

    /// A member that is a text and not empty. One of another type is a problem of its own, so that
    /// only `Ok(None)` means missing.
    fn optional_text<'a>(
        &mut self,
        node: &Node<'a>,
        name: &str,
    ) -> Result<Option<&'a str>, AlreadyReported> {
        let Some(member) = node.get(name) else { return Ok(None) };
        match member.value().as_str() {
            Some(text) => Ok(Some(text).filter(|it| !it.is_empty())),
            None => Err(self.wrong_type(&member, "a string")),
        }
    }

    /// A member that is a text, and a problem when it is missing.
    fn required_text<'a>(
        &mut self,
        node: &Node<'a>,
        name: &str,
        rule: &CardRule,
        advice: &str,
    ) -> Option<&'a str> {
        let text = self.optional_text(node, name).ok()?;
        if text.is_none() {
            self.add_member(rule, node, name, format!("{name} is required; {advice}"));
        }
        text
    }

    /// The items of a member that is a list; none when it is missing or of another type.
    fn items<'a>(&mut self, node: &Node<'a>, name: &str) -> Vec<Node<'a>> {
        let Some(member) = node.get(name) else { return Vec::new() };
        match member.items() {
            Some(items) => items,
            None => {
                self.wrong_type(&member, "an array");
                Vec::new()
            }
        }
    }

    /// The items of a list that are objects.
    fn objects<'a>(&mut self, node: &Node<'a>, name: &str) -> Vec<Node<'a>> {
        let mut items = self.items(node, name);
        items.retain(|item| {
            let fits = item.value().is_object();
            if !fits {
                self.wrong_type(item, "an object");
            }
            fits
        });
        items
    }

    fn wrong_type(&mut self, node: &Node<'_>, wanted: &str) -> AlreadyReported {
        self.add(&rules::TYPE, node, format!("must be {wanted}, and is {}", node.type_name()));
        AlreadyReported
    }
}

/// A value was wrong, and that has been said.
#[derive(Debug)]
struct AlreadyReported;
