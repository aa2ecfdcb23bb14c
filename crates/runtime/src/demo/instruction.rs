//! What the demonstration can be told to do.

use std::fmt;
use std::time::Duration;

use latimer_protocol::card::AgentSkill;
use serde_json::Value;

/// Something to do.
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

/// A word, what follows it, and what it does.
#[derive(Debug)]
pub(super) struct Command {
    word: &'static str,
    arguments: &'static str,
    does: &'static str,
    example: &'static str,
    read: fn(&str) -> Option<Instruction>,
}

/// An instruction that cannot be followed as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misuse(&'static Command);

/// A demonstration is no way to fill a disk, or to keep a server busy for days.
const MAX_COUNT: usize = 100_000;
const MAX_BYTES: usize = 10 * 1024 * 1024;
const MAX_TIME: Duration = Duration::from_secs(3_600);

/// Every command.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        word: "echo",
        arguments: "TEXT",
        does: "Answers with the text, and whatever else is in the message, in an artifact",
        example: "echo hello",
        read: |rest| Some(Instruction::Echo(rest.to_owned())),
    },
    Command {
        word: "say",
        arguments: "TEXT",
        does: "Answers with a message, without a task",
        example: "say hello",
        read: |rest| text(rest).map(Instruction::Say),
    },
    Command {
        word: "chunks",
        arguments: "N [MS]",
        does: "Makes an artifact of N chunks, MS milliseconds apart",
        example: "chunks 5 200",
        read: |rest| {
            let mut words = rest.split_whitespace();
            let count = count(words.next())?;
            let pause = words.next().map_or(Some(Duration::ZERO), milliseconds)?;
            words.next().is_none().then_some(Instruction::Chunks { count, pause })
        },
    },
    Command {
        word: "wait",
        arguments: "MS",
        does: "Works for MS milliseconds",
        example: "wait 3000",
        read: |rest| milliseconds(rest).map(Instruction::Wait),
    },
    Command {
        word: "ask",
        arguments: "QUESTION",
        does: "Asks for input; the next message to the task is the answer and completes it",
        example: "ask Which city?",
        read: |rest| text(rest).map(Instruction::Ask),
    },
    Command {
        word: "auth",
        arguments: "",
        does: "Asks for an authorization; the next message to the task completes it",
        example: "auth",
        read: |rest| rest.trim().is_empty().then_some(Instruction::Auth),
    },
    Command {
        word: "fail",
        arguments: "TEXT",
        does: "Fails for the reason given",
        example: "fail out of coffee",
        read: |rest| text(rest).map(Instruction::Fail),
    },
    Command {
        word: "reject",
        arguments: "TEXT",
        does: "Declines for the reason given",
        example: "reject not my job",
        read: |rest| text(rest).map(Instruction::Reject),
    },
    Command {
        word: "file",
        arguments: "NAME BYTES",
        does: "Answers with a file of that many bytes",
        example: "file letters.bin 1024",
        read: |rest| {
            let (name, bytes) = rest.trim().rsplit_once(char::is_whitespace)?;
            let bytes = bytes.parse().ok().filter(|it| *it <= MAX_BYTES)?;
            Some(Instruction::File { name: text(name)?, bytes })
        },
    },
    Command {
        word: "url",
        arguments: "URL",
        does: "Answers with a file by its address",
        example: "url https://example.com/output.txt",
        read: |rest| text(rest).filter(|it| it.contains("://")).map(Instruction::Url),
    },
    Command {
        word: "data",
        arguments: "JSON",
        does: "Answers with a JSON value",
        example: r#"data {"answer": 42}"#,
        read: |rest| serde_json::from_str(rest).ok().map(Instruction::Data),
    },
    Command {
        word: "stubborn",
        arguments: "MS",
        does: "Works for MS milliseconds, and does not stop when canceled",
        example: "stubborn 10000",
        read: |rest| milliseconds(rest).map(Instruction::Stubborn),
    },
    Command {
        word: "burst",
        arguments: "N",
        does: "Changes its status N times at once",
        example: "burst 1000",
        read: |rest| count(Some(rest)).map(Instruction::Burst),
    },
];

impl Instruction {
    /// The instruction that a message gives; none when its first word is no command.
    pub(super) fn of(message: &str) -> Result<Option<Self>, Misuse> {
        let (word, rest) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
        let Some(command) = COMMANDS.iter().find(|it| it.word == word) else { return Ok(None) };
        (command.read)(rest).map(Some).ok_or(Misuse(command))
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { word, arguments, does, example, .. } = self.0;
        let usage = format!("{word} {arguments}");
        write!(out, "usage: {}: {does}. For example: {example}", usage.trim_end())
    }
}

impl From<&Command> for AgentSkill {
    fn from(command: &Command) -> Self {
        let Command { word, arguments, does, example, .. } = command;
        Self {
            id: (*word).to_owned(),
            name: format!("{word} {arguments}").trim_end().to_owned(),
            description: (*does).to_owned(),
            tags: vec!["demo".to_owned(), (*word).to_owned()],
            examples: vec![(*example).to_owned()],
            ..Self::default()
        }
    }
}

fn text(words: &str) -> Option<String> {
    Some(words.trim()).filter(|it| !it.is_empty()).map(str::to_owned)
}

fn count(word: Option<&str>) -> Option<usize> {
    word?.trim().parse().ok().filter(|it| (1..=MAX_COUNT).contains(it))
}

fn milliseconds(word: &str) -> Option<Duration> {
    word.trim().parse().ok().map(Duration::from_millis).filter(|it| *it <= MAX_TIME)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_word_says_what_to_do() {
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
            assert_eq!(Instruction::of(message).ok(), Some(want), "{message:?}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_explained() {
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
            let misuse = Instruction::of(message).expect_err(message).to_string();
            let word = message.split(' ').next().unwrap();
            assert!(misuse.starts_with(&format!("usage: {word}")), "{message}: {misuse}");
        }
    }

    #[test]
    fn every_example_can_be_followed() {
        for command in COMMANDS {
            let followed = Instruction::of(command.example);
            assert!(matches!(followed, Ok(Some(_))), "{}", command.example);
        }
    }
}
