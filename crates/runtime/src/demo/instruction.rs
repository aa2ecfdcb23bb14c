//! Instructions of the demo agent.

use std::fmt;
use std::time::Duration;

use latimer_protocol::card::AgentSkill;
use serde_json::Value;

/// A parsed instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Instruction {
    Echo(String),
    Say(String),
    Chunks { count: usize, pause: Duration },
    Wait(Duration),
    Ask(String),
    Auth,
    Fail(String),
    Reject(String),
    File { name: String, bytes: usize },
    Url(String),
    Data(Value),
    Stubborn(Duration),
    Burst(usize),
}

/// A command: the first word of a message, its arguments and its effect.
#[derive(Debug)]
pub(super) struct Command {
    name: &'static str,
    arguments: &'static str,
    description: &'static str,
    example: &'static str,
    parse: fn(&str) -> Option<Instruction>,
}

/// Error of a command with invalid arguments. Displays the usage of the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct InvalidInstruction(&'static Command);

// Limits of one instruction, so that clients of a public demo agent cannot fill the disk or occupy
// the server for days.
const MAX_COUNT: usize = 100_000;
const MAX_FILE_BYTES: usize = 10 * 1024 * 1024;
const MAX_DURATION: Duration = Duration::from_secs(3_600);

/// All commands.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "echo",
        arguments: "TEXT",
        description: "Returns the text and all other parts of the message as an artifact",
        example: "echo hello",
        parse: |arguments| Some(Instruction::Echo(arguments.to_owned())),
    },
    Command {
        name: "say",
        arguments: "TEXT",
        description: "Replies with a message instead of a task",
        example: "say hello",
        parse: |arguments| non_empty_text(arguments).map(Instruction::Say),
    },
    Command {
        name: "chunks",
        arguments: "N [MS]",
        description: "Writes an artifact of N chunks, MS milliseconds apart",
        example: "chunks 5 200",
        parse: |arguments| {
            let mut fields = arguments.split_whitespace();
            let count = parse_count(fields.next()?)?;
            let pause = fields.next().map_or(Some(Duration::ZERO), parse_millis)?;
            fields.next().is_none().then_some(Instruction::Chunks { count, pause })
        },
    },
    Command {
        name: "wait",
        arguments: "MS",
        description: "Works for MS milliseconds",
        example: "wait 3000",
        parse: |arguments| parse_millis(arguments).map(Instruction::Wait),
    },
    Command {
        name: "ask",
        arguments: "QUESTION",
        description: "Requests input; the next message to the task completes it",
        example: "ask Which city?",
        parse: |arguments| non_empty_text(arguments).map(Instruction::Ask),
    },
    Command {
        name: "auth",
        arguments: "",
        description: "Requests authorization; the next message to the task completes it",
        example: "auth",
        parse: |arguments| arguments.trim().is_empty().then_some(Instruction::Auth),
    },
    Command {
        name: "fail",
        arguments: "TEXT",
        description: "Fails with this reason",
        example: "fail out of coffee",
        parse: |arguments| non_empty_text(arguments).map(Instruction::Fail),
    },
    Command {
        name: "reject",
        arguments: "TEXT",
        description: "Rejects the task with this reason",
        example: "reject not my job",
        parse: |arguments| non_empty_text(arguments).map(Instruction::Reject),
    },
    Command {
        name: "file",
        arguments: "NAME BYTES",
        description: "Returns a file of BYTES bytes",
        example: "file letters.bin 1024",
        parse: |arguments| {
            let (name, bytes) = arguments.trim().rsplit_once(char::is_whitespace)?;
            let bytes = bytes.parse().ok().filter(|it| *it <= MAX_FILE_BYTES)?;
            Some(Instruction::File { name: non_empty_text(name)?, bytes })
        },
    },
    Command {
        name: "url",
        arguments: "URL",
        description: "Returns a file as a URL",
        example: "url https://example.com/output.txt",
        parse: |arguments| {
            non_empty_text(arguments).filter(|it| it.contains("://")).map(Instruction::Url)
        },
    },
    Command {
        name: "data",
        arguments: "JSON",
        description: "Returns a JSON value",
        example: r#"data {"answer": 42}"#,
        parse: |arguments| serde_json::from_str(arguments).ok().map(Instruction::Data),
    },
    Command {
        name: "stubborn",
        arguments: "MS",
        description: "Works for MS milliseconds and ignores cancellation",
        example: "stubborn 10000",
        parse: |arguments| parse_millis(arguments).map(Instruction::Stubborn),
    },
    Command {
        name: "burst",
        arguments: "N",
        description: "Updates the status N times without a pause",
        example: "burst 1000",
        parse: |arguments| parse_count(arguments).map(Instruction::Burst),
    },
];

impl Instruction {
    /// Parses a message. Returns `None` if its first word is not a command.
    pub(super) fn parse(message: &str) -> Result<Option<Self>, InvalidInstruction> {
        let (name, arguments) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
        let Some(command) = COMMANDS.iter().find(|it| it.name == name) else { return Ok(None) };
        (command.parse)(arguments).map(Some).ok_or(InvalidInstruction(command))
    }
}

impl fmt::Display for InvalidInstruction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { name, arguments, description, example, .. } = self.0;
        let usage = format!("{name} {arguments}");
        write!(out, "usage: {}: {description}. For example: {example}", usage.trim_end())
    }
}

impl From<&Command> for AgentSkill {
    fn from(command: &Command) -> Self {
        let Command { name, arguments, description, example, .. } = command;
        Self {
            id: (*name).to_owned(),
            name: format!("{name} {arguments}").trim_end().to_owned(),
            description: (*description).to_owned(),
            tags: vec!["demo".to_owned(), (*name).to_owned()],
            examples: vec![(*example).to_owned()],
            ..Self::default()
        }
    }
}

fn non_empty_text(arguments: &str) -> Option<String> {
    Some(arguments.trim()).filter(|it| !it.is_empty()).map(str::to_owned)
}

fn parse_count(value: &str) -> Option<usize> {
    value.trim().parse().ok().filter(|it| (1..=MAX_COUNT).contains(it))
}

fn parse_millis(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_millis).filter(|it| *it <= MAX_DURATION)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn first_word_selects_instruction() {
        let milliseconds = Duration::from_millis;
        for (message, want) in [
            ("hello there", None),
            ("", None),
            ("Echo hello", None),
            ("echo  hello\n there ", Some(Instruction::Echo(" hello\n there ".into()))),
            ("echo", Some(Instruction::Echo(String::new()))),
            ("say\n hi ", Some(Instruction::Say("hi".into()))),
            ("chunks 3", Some(Instruction::Chunks { count: 3, pause: Duration::ZERO })),
            ("chunks 3 20", Some(Instruction::Chunks { count: 3, pause: milliseconds(20) })),
            ("wait 5", Some(Instruction::Wait(milliseconds(5)))),
            ("ask Why?", Some(Instruction::Ask("Why?".into()))),
            ("auth", Some(Instruction::Auth)),
            ("fail no luck", Some(Instruction::Fail("no luck".into()))),
            ("reject no", Some(Instruction::Reject("no".into()))),
            (
                "file my notes.txt 7",
                Some(Instruction::File { name: "my notes.txt".into(), bytes: 7 }),
            ),
            ("url https://a/b", Some(Instruction::Url("https://a/b".into()))),
            ("data [1, null]", Some(Instruction::Data(json!([1, null])))),
            ("stubborn 9", Some(Instruction::Stubborn(milliseconds(9)))),
            ("burst 100", Some(Instruction::Burst(100))),
        ] {
            assert_eq!(Instruction::parse(message).ok(), Some(want), "{message:?}");
        }
    }

    #[test]
    fn invalid_arguments_return_usage() {
        for message in [
            "say",
            "chunks",
            "chunks 0",
            "chunks x",
            "chunks 3 x",
            "chunks 3 1 1",
            "chunks 100001",
            "wait",
            "wait -1",
            "wait 3600001",
            "ask",
            "auth now",
            "fail",
            "reject",
            "file a",
            "file 7",
            "file a 10485761",
            "url here",
            "data {",
            "data",
            "stubborn x",
            "burst 0",
        ] {
            let usage = Instruction::parse(message).expect_err(message).to_string();
            let name = message.split(' ').next().unwrap();
            assert!(usage.starts_with(&format!("usage: {name}")), "{message}: {usage}");
        }
    }

    #[test]
    fn every_example_parses() {
        for command in COMMANDS {
            let parsed = Instruction::parse(command.example);
            assert!(matches!(parsed, Ok(Some(_))), "{}", command.example);
        }
    }
}
