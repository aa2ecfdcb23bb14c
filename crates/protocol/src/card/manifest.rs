//! Agent cards generated from a manifest: the tools of the agent become skills.
//!
//! These skills are descriptions for other agents, not installable packages.

use super::model::PLAIN_TEXT;
use super::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ProtocolBinding};
use crate::version::Version;

/// Input for [`build_agent_card`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Name of the agent.
    pub name: String,
    /// Description of the agent.
    pub description: String,
    /// Version of the agent.
    pub version: String,
    /// JSON-RPC URL of the agent.
    pub url: String,
    /// Optional protocol features that the agent supports.
    pub capabilities: AgentCapabilities,
    /// Tools that the agent can use.
    pub tools: Vec<ManifestTool>,
    /// Skills to declare if `tools` is empty.
    pub default_skills: DefaultSkills,
}

/// Skills of an agent without tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultSkills {
    /// No skills.
    #[default]
    None,
    /// The skills of a general coding assistant: code generation, debugging, code review,
    /// architecture and search.
    CodingAssistant,
}

/// Tool that an agent can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestTool {
    /// Identifier of the tool, such as `file_read`.
    pub name: String,
    /// Description of the tool, if known.
    pub description: Option<String>,
    /// Permissions of the tool, such as `fs:read`. They become the tags of the skill.
    pub capabilities: Vec<String>,
}

impl ManifestTool {
    /// Creates a tool with a name only.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl From<&ManifestTool> for AgentSkill {
    /// Converts the tool to a skill. Without a description, the skill states only that the agent
    /// can use the tool.
    fn from(tool: &ManifestTool) -> Self {
        let name = &tool.name;
        let description = tool.description.as_deref().filter(|it| !it.trim().is_empty());
        let mut tags = tool.capabilities.clone();
        if tags.is_empty() {
            tags.push("tool".into());
        }
        match description {
            Some(description) => Self {
                id: name.clone(),
                name: title_case(name),
                description: description.to_owned(),
                tags,
                examples: examples(name).iter().map(|it| (*it).to_owned()).collect(),
                ..Self::default()
            },
            None => Self {
                id: name.clone(),
                name: name.replace('_', " "),
                description: format!("Can use the {name} tool"),
                tags,
                ..Self::default()
            },
        }
    }
}

/// Builds the card of an agent from its manifest. Each tool becomes a skill.
///
/// The card has JSON-RPC interfaces for 1.0 and 0.3 at the URL of the manifest. The caller adds
/// further interfaces.
///
/// ```
/// # use latimer_protocol::card::{Manifest, ManifestTool, build_agent_card};
/// let card = build_agent_card(&Manifest {
///     name: "code-reviewer".into(),
///     description: "Reviews code for bugs, security issues, and style".into(),
///     version: "0.1.0".into(),
///     url: "http://127.0.0.1:50051/a2a".into(),
///     tools: vec![ManifestTool::new("file_read")],
///     ..Manifest::default()
/// });
/// assert_eq!(card.skills[0].name, "file read");
/// assert_eq!(card.skills[0].description, "Can use the file_read tool");
/// ```
#[must_use]
pub fn build_agent_card(manifest: &Manifest) -> AgentCard {
    let interface = AgentInterface::new(&manifest.url, ProtocolBinding::JsonRpc);
    let mut skills: Vec<AgentSkill> = Vec::new();
    for tool in &manifest.tools {
        // Skill ids must be unique within a card.
        if !skills.iter().any(|it| it.id == tool.name) {
            skills.push(tool.into());
        }
    }
    if skills.is_empty() && manifest.default_skills == DefaultSkills::CodingAssistant {
        skills.extend(default_skills());
    }
    AgentCard {
        name: manifest.name.clone(),
        description: manifest.description.clone(),
        version: manifest.version.clone(),
        supported_interfaces: vec![interface.clone(), interface.with_version(Version::V0_3)],
        capabilities: manifest.capabilities.clone(),
        default_input_modes: vec![PLAIN_TEXT.to_owned()],
        default_output_modes: vec![PLAIN_TEXT.to_owned()],
        skills,
        ..AgentCard::default()
    }
}

fn default_skills() -> impl Iterator<Item = AgentSkill> {
    [
        ("code-generation", "Writes code from a description", "Write a function that parses dates"),
        ("debugging", "Finds and fixes the causes of failures", "Why does this test fail?"),
        ("code-review", "Reviews code for bugs, security issues and style", "Review this change"),
        ("architecture", "Designs systems and weighs alternatives", "How should I split this?"),
        ("search", "Finds things in code and documents", "Where is the retry limit set?"),
    ]
    .into_iter()
    .map(|(id, description, example)| AgentSkill {
        id: id.into(),
        name: title_case(id),
        description: description.into(),
        tags: id.split('-').map(str::to_owned).collect(),
        examples: vec![example.into()],
        ..AgentSkill::default()
    })
}

/// Returns example prompts for well-known tools.
fn examples(tool: &str) -> &'static [&'static str] {
    match tool {
        "file_read" | "read_file" => &["Read README.md and summarize it"],
        "file_write" | "write_file" => &["Write the result to notes.md"],
        "file_edit" | "edit_file" => &["Rename this function in main.rs"],
        "file_list" | "list_files" | "list_directory" => &["Which files are in src?"],
        "shell" | "shell_exec" | "bash" => &["Run the tests and report failures"],
        "web_search" => &["Find the latest release notes of Rust"],
        "web_fetch" | "http_fetch" | "fetch" => &["Fetch https://example.com and summarize it"],
        "grep" | "code_search" | "search" => &["Where is the retry limit set?"],
        "git" | "git_diff" | "git_log" => &["What changed since the last release?"],
        "memory_store" | "memory_recall" => &["Remember that I prefer metric units"],
        _ => &[],
    }
}

/// Converts `file_read` to `File Read`.
fn title_case(name: &str) -> String {
    let words = name.split(['_', '-', ' ']).filter(|it| !it.is_empty());
    let titles: Vec<String> = words
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().into_iter().flat_map(char::to_uppercase);
            first.chain(chars).collect()
        })
        .collect();
    titles.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{CardFormat, TransitionHistory};

    #[test]
    fn tool_becomes_skill_with_or_without_description() {
        let tool_with_description = |name: &str, capabilities: &[&str]| ManifestTool {
            name: name.into(),
            description: Some("Does it".into()),
            capabilities: capabilities.iter().map(|it| (*it).to_owned()).collect(),
        };
        for (tool, name, description, tags, examples) in [
            (
                ManifestTool::new("file_read"),
                "file read",
                "Can use the file_read tool",
                ["tool"],
                0,
            ),
            (ManifestTool::new("x"), "x", "Can use the x tool", ["tool"], 0),
            (
                tool_with_description("file_read", &["fs:read"]),
                "File Read",
                "Does it",
                ["fs:read"],
                1,
            ),
            (tool_with_description("web-search__v2", &[]), "Web Search V2", "Does it", ["tool"], 0),
        ] {
            let skill = AgentSkill::from(&tool);
            assert_eq!(skill.id, tool.name);
            assert_eq!((&*skill.name, &*skill.description), (name, description), "{tool:?}");
            assert_eq!(skill.tags, tags, "{tool:?}");
            assert_eq!(skill.examples.len(), examples, "{tool:?}");
        }
    }

    #[test]
    fn v0_1_card_matches_original_fixture() {
        let card = build_agent_card(&Manifest {
            name: "code-reviewer".into(),
            description: "Reviews code for bugs, security issues, and style".into(),
            version: "0.1.0".into(),
            url: "http://127.0.0.1:50051/a2a".into(),
            capabilities: AgentCapabilities { streaming: Some(true), ..Default::default() },
            tools: vec![ManifestTool::new("file_read")],
            ..Manifest::default()
        });
        let text = include_str!("../../fixtures/cards/s0.json");
        let want: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(card.to_json(CardFormat::V0_1(TransitionHistory::Recorded)), want);
    }

    #[test]
    fn default_skills_are_added_on_request_without_tools() {
        for (default_skills, tools, want) in [
            (DefaultSkills::None, vec![], 0),
            (DefaultSkills::CodingAssistant, vec![], 5),
            (
                DefaultSkills::CodingAssistant,
                vec![ManifestTool::new("a"), ManifestTool::new("a")],
                1,
            ),
        ] {
            let manifest = Manifest { default_skills, tools, ..Manifest::default() };
            assert_eq!(build_agent_card(&manifest).skills.len(), want, "{manifest:?}");
        }
    }
}
