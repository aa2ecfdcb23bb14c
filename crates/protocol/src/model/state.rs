//! The states of a task and the roles of a message.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// State of a task.
///
/// ```
/// use latimer_protocol::{Phase, TaskState};
///
/// let state: TaskState = "input-required".parse()?;
/// assert_eq!(state.name(), "TASK_STATE_INPUT_REQUIRED");
/// assert_eq!(state.phase(), Phase::Interrupted);
/// assert!(TaskState::Failed.is_terminal());
/// # Ok::<(), latimer_protocol::UnknownEnumName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum TaskState {
    /// Unknown. Accepted from peers, never written.
    #[default]
    Unspecified = 0,
    /// Accepted, not started.
    Submitted = 1,
    /// The agent is processing the task.
    Working = 2,
    /// Finished successfully.
    Completed = 3,
    /// Finished with an error.
    Failed = 4,
    /// Canceled on request.
    Canceled = 5,
    /// The agent waits for another message of the caller.
    InputRequired = 6,
    /// The agent declined the task.
    Rejected = 7,
    /// The agent waits for the caller to authenticate or to give consent.
    AuthRequired = 8,
}

/// Classification of a [`TaskState`] by what can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The agent works on the task or will start to.
    Active,
    /// The agent waits for the caller.
    Interrupted,
    /// The task never changes again.
    Terminal,
}

impl TaskState {
    /// All states, ordered by protobuf number.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// Returns the phase of the state.
    #[must_use]
    pub const fn phase(self) -> Phase {
        match self {
            Self::Unspecified | Self::Submitted | Self::Working => Phase::Active,
            Self::InputRequired | Self::AuthRequired => Phase::Interrupted,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => Phase::Terminal,
        }
    }

    /// Returns whether a task in this state never changes again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self.phase(), Phase::Terminal)
    }

    /// Returns whether a task in this state waits for its caller.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self.phase(), Phase::Interrupted)
    }

    /// Returns the protobuf name, which is also the JSON value in 1.0.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// Returns the protobuf number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Returns the state with this protobuf number.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// Author of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum Role {
    /// Unknown. Accepted from peers, never written.
    #[default]
    Unspecified = 0,
    /// The user, or the client that acts for the user.
    User = 1,
    /// The agent.
    Agent = 2,
}

impl Role {
    /// All roles, ordered by protobuf number.
    pub const ALL: [Self; 3] = [Self::Unspecified, Self::User, Self::Agent];

    /// Returns the protobuf name, which is also the JSON value in 1.0.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "ROLE_UNSPECIFIED",
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }

    /// Returns the protobuf number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Returns the role with this protobuf number.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// A string is not the name of a state or role in any version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a known {0}")]
pub struct UnknownEnumName(&'static str);

impl FromStr for TaskState {
    type Err = UnknownEnumName;

    /// Parses the name of a state in any version and common misspellings: `TASK_STATE_CANCELED`,
    /// `TASK_STATE_CANCELLED`, `canceled`, `cancelled`, `input-required`, `inputRequired`, …
    fn from_str(text: &str) -> Result<Self, UnknownEnumName> {
        match text {
            "TASK_STATE_SUBMITTED" | "submitted" => return Ok(Self::Submitted),
            "TASK_STATE_WORKING" | "working" => return Ok(Self::Working),
            "TASK_STATE_COMPLETED" | "completed" => return Ok(Self::Completed),
            "TASK_STATE_INPUT_REQUIRED" | "input-required" => return Ok(Self::InputRequired),
            _ => {}
        }
        // Less frequent states, and other case or separators.
        let bare = text.strip_prefix("TASK_STATE_").unwrap_or(text);
        let normalized: String = bare
            .chars()
            .filter(|ch| !matches!(ch, '-' | '_'))
            .map(|ch| ch.to_ascii_lowercase())
            .collect();
        Ok(match normalized.as_str() {
            "unspecified" | "unknown" => Self::Unspecified,
            "submitted" => Self::Submitted,
            "working" => Self::Working,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "canceled" | "cancelled" => Self::Canceled,
            "inputrequired" => Self::InputRequired,
            "rejected" => Self::Rejected,
            "authrequired" => Self::AuthRequired,
            _ => return Err(UnknownEnumName("task state")),
        })
    }
}

impl FromStr for Role {
    type Err = UnknownEnumName;

    /// Parses the name of a role in any version: `ROLE_USER`, `user`, …
    fn from_str(text: &str) -> Result<Self, UnknownEnumName> {
        Ok(match text {
            "ROLE_USER" | "user" => Self::User,
            "ROLE_AGENT" | "agent" => Self::Agent,
            "ROLE_UNSPECIFIED" => Self::Unspecified,
            _ => return Err(UnknownEnumName("role")),
        })
    }
}

macro_rules! protojson_enum {
    ($($name:ident: $what:literal)+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(self.name())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct NameOrNumber;

                impl Visitor<'_> for NameOrNumber {
                    type Value = $name;

                    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                        out.write_str($what)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$name, E> {
                        $name::from_number(number)
                            .ok_or_else(|| E::custom(concat!("is not the number of ", $what)))
                    }

                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$name, E> {
                        self.visit_i64(i64::try_from(number).unwrap_or(-1))
                    }
                }

                deserializer.deserialize_any(NameOrNumber)
            }
        }
    )+};
}

protojson_enum! {
    TaskState: "a task state"
    Role: "a role"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_role_round_trip_by_number_and_name() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::from_number(state.number().into()), Some(state));
            assert_eq!(state.name().parse(), Ok(state));
        }
        for role in Role::ALL {
            assert_eq!(Role::from_number(role.number().into()), Some(role));
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert_eq!(TaskState::from_number(9), None);
        assert_eq!(TaskState::from_number(-1), None);
    }

    #[test]
    fn each_state_has_its_phase() {
        use TaskState as S;
        for (state, phase) in [
            (S::Unspecified, Phase::Active),
            (S::Submitted, Phase::Active),
            (S::Working, Phase::Active),
            (S::InputRequired, Phase::Interrupted),
            (S::AuthRequired, Phase::Interrupted),
            (S::Completed, Phase::Terminal),
            (S::Failed, Phase::Terminal),
            (S::Canceled, Phase::Terminal),
            (S::Rejected, Phase::Terminal),
        ] {
            assert_eq!(state.phase(), phase, "{state}");
            assert_eq!(state.is_terminal(), phase == Phase::Terminal, "{state}");
            assert_eq!(state.is_interrupted(), phase == Phase::Interrupted, "{state}");
        }
    }

    #[test]
    fn every_spelling_of_a_state_is_read() {
        for (text, want) in [
            ("input-required", TaskState::InputRequired),
            ("inputRequired", TaskState::InputRequired),
            ("InputRequired", TaskState::InputRequired),
            ("input_required", TaskState::InputRequired),
            ("INPUT_REQUIRED", TaskState::InputRequired),
            ("TASK_STATE_CANCELLED", TaskState::Canceled),
            ("Cancelled", TaskState::Canceled),
            ("unknown", TaskState::Unspecified),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        assert!("paused".parse::<TaskState>().is_err());
    }
}
