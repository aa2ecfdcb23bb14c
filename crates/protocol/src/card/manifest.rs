//! Makes a card out of what an agent's manifest lists: its tools become its skills.
//!
//! Skills here are what a card tells other agents, and nothing that could be installed.

use super::model::PLAIN_TEXT;
use super::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, ProtocolBinding};
use crate::version::Version;

/// What is known about an agent before it has a card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// The agent's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Where it is called with JSON-RPC.
    pub url: String,
    /// Which optional parts of the protocol it speaks.
    pub capabilities: AgentCapabilities,
    /// The tools it may use.
    pub tools: Vec<ManifestTool>,
    /// What to say when there are no tools.
    pub default_skills: DefaultSkills,
}

/// Whether an agent without tools claims the skills of a general coding assistant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultSkills {
    /// It has no skills.
    #[default]
    None,
    /// It offers code generation, debugging, code review, architecture and search.
    CodingAssistant,
}

/// A tool that an agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestTool {
    /// Its identifier, such as `file_read`.
    pub name: String,
    /// What it does, if that is known.
    pub description: Option<String>,
    /// What it may do, such as `fs:read`. They become the tags of the skill.
    pub capabilities: Vec<String>,
}

impl ManifestTool {
    /// A tool of which only the name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl From<&ManifestTool> for AgentSkill {
    /// With a description the skill speaks for itself; with a name alone it can only say that the
    /// agent can use that tool.
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

/// Makes an agent's card: every tool becomes a skill. It is called at `url` with JSON-RPC of 1.0
/// and 0.3; whoever serves more adds interfaces.
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
        // A tool that is listed twice is still one skill: identifiers are unique within a card.
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

/// What a caller might say to have a well-known tool used.
fn examples(tool: &str) -> &'static [&'static str] {
    match tool {
        "file_read" | "read_file" => &["Read README.md and summarise it"],
        "file_write" | "write_file" => &["Write the result to notes.md"],
        "file_edit" | "edit_file" => &["Rename this function in main.rs"],
        "file_list" | "list_files" | "list_directory" => &["Which files are in src?"],
        "shell" | "shell_exec" | "bash" => &["Run the tests and tell what fails"],
        "web_search" => &["Find the latest release notes of Rust"],
        "web_fetch" | "http_fetch" | "fetch" => &["Fetch https://example.com and summarise it"],
        "grep" | "code_search" | "search" => &["Where is the retry limit set?"],
        "git" | "git_diff" | "git_log" => &["What changed since the last release?"],
        "memory_store" | "memory_recall" => &["Remember that I prefer metric units"],
        _ => &[],
    }
}

/// `File Read` of `file_read`.
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
