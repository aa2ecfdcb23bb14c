//! Validation of published cards of any version.
//!
//! [`AgentCard::from_json`](super::AgentCard::from_json) is lenient and drops malformed optional
//! members; [`validate`] reports them.
//!
//! | module | content |
//! | --- | --- |
//! | `card` | checks of the card, its modes, skills and extensions |
//! | `interface` | checks of URLs, bindings and versions |
//! | `node` | JSON values with their pointers |
//! | `rules` | list of all rules |
//! | `security` | checks of security schemes and requirements |
//! | `signature` | checks of the syntax of signatures |

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

/// Violation of a rule by a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardProblem {
    /// Stable identifier of the violated rule in [`RULES`].
    pub id: &'static str,
    /// JSON pointer (RFC 6901) to the invalid value, or to where a missing member belongs.
    pub pointer: String,
    /// Severity of the problem.
    pub severity: Severity,
    /// Problem and its correction.
    pub message: String,
}

impl fmt::Display for CardProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = if self.pointer.is_empty() { "the card" } else { &self.pointer };
        write!(out, "{location}: {}", self.message)
    }
}

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The card can be used, but some clients may not support it or features may not work.
    Warning,
    /// The card violates the specification, and clients may reject it.
    Error,
}

/// Rule that cards must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardRule {
    /// Stable identifier.
    pub id: &'static str,
    /// Severity of a violation.
    pub severity: Severity,
    /// One-line description of a violation.
    pub explanation: &'static str,
}

/// Validates a card and returns its problems.
///
/// The version is detected from the members: a card with `supportedInterfaces` is checked against
/// 1.0, a card with `url` against 0.3 or 0.1, and a card with both members against 1.0 and 0.3.
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

/// Collects problems during validation.
#[derive(Default)]
struct Report {
    problems: Vec<CardProblem>,
}

impl Report {
    /// Reports a problem with `node`.
    fn add(&mut self, rule: &CardRule, node: &Node<'_>, message: impl Into<String>) {
        self.add_at(rule, node.pointer().to_owned(), message);
    }

    /// Reports a problem with the member `name` of `node`, which may be missing.
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

    /// Returns the member `name` if it is a non-empty string. Reports a member of another type, so
    /// that `Ok(None)` always means that the member is missing or empty.
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

    /// Returns the member `name` if it is a non-empty string. Reports a missing member or one of
    /// another type.
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

    /// Returns the items of the list `name`; empty if it is missing. Reports a member of another
    /// type.
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

    /// Returns the items of the list `name` that are objects. Reports items of another type.
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
        self.add(&rules::TYPE, node, format!("must be {wanted}, but is {}", node.type_name()));
        AlreadyReported
    }
}

/// The value is invalid, and the problem has been reported.
#[derive(Debug)]
struct AlreadyReported;
