//! Builds the instances that `record.py` recorded, by the same rule.

use std::{collections::BTreeMap, fmt::Debug};

use bytes::Bytes;
use latimer_pb::rpc::ErrorInfo;
use prost::{Message, Name};
use prost_types::{Any, Duration, Struct, Timestamp, Value, value::Kind};

use crate::recorded::RecordedPackage;

/// Type whose value is derived from the name of its field.
pub(crate) trait Sample: Sized {
    fn sample(field: &str) -> Self;

    /// Returns one instance, or one per member of the oneof.
    fn each() -> Vec<Self> {
        vec![Self::sample("")]
    }
}

/// Members of a oneof.
pub(crate) trait Oneof: Sized {
    fn members() -> Vec<Self>;
}

/// Message type with a function that checks recorded bytes.
pub(crate) struct Row {
    name: String,
    check: fn(&[Vec<u8>]),
}

impl Row {
    pub(crate) fn of<M: Sample + Message + Name + Default + PartialEq + Debug>() -> Self {
        Self { name: M::full_name(), check: check_samples::<M> }
    }
}

/// Checks every recorded message. Each message must have exactly one row.
pub(crate) fn check(rows: &[Row], recorded: &RecordedPackage) {
    let mut rows: BTreeMap<&str, &Row> = rows.iter().map(|row| (row.name.as_str(), row)).collect();
    for message in &recorded.messages {
        let row = rows.remove(message.name.as_str());
        let row = row.unwrap_or_else(|| panic!("missing row for {}", message.name));
        (row.check)(&message.samples);
    }
    assert!(rows.is_empty(), "the SDK lacks {:?}", rows.keys());
}

fn check_samples<M: Sample + Message + Name + Default + PartialEq + Debug>(recorded: &[Vec<u8>]) {
    let want = M::each();
    assert_eq!(recorded.len(), want.len(), "{}: number of samples", M::full_name());
    for (bytes, want) in recorded.iter().zip(want) {
        let found = M::decode(bytes.as_slice()).unwrap();
        assert_eq!(found, want, "{}: decoded", M::full_name());
        assert_eq!(found.encode_to_vec(), *bytes, "{}: encoded again", M::full_name());
    }
}

/// Lists the fields of each message. A field that the rule does not cover has an explicit value; a
/// oneof follows the arrow.
macro_rules! messages {
    ($($message:path { $($field:ident $(= $value:expr)?),* } $(=> $oneof:ident)?)*) => {
        $(impl $crate::sample::Sample for $message {
            fn sample(_: &str) -> Self {
                Self { $($field: $crate::sample::field!($field $($value)?)),* }
            }

            $(fn each() -> Vec<Self> {
                let with = |member| {
                    let mut message = Self::sample("");
                    message.$oneof = Some(member);
                    message
                };
                $crate::sample::Oneof::members().into_iter().map(with).collect()
            })?
        })*

        pub(crate) fn rows() -> Vec<$crate::sample::Row> {
            vec![$($crate::sample::Row::of::<$message>()),*]
        }
    };
}
pub(crate) use messages;

macro_rules! field {
    ($field:ident) => {
        $crate::sample::Sample::sample(stringify!($field).trim_start_matches("r#"))
    };
    ($field:ident $value:expr) => {
        $value
    };
}
pub(crate) use field;

/// Lists the members of each oneof with the names of their fields.
macro_rules! oneofs {
    ($($oneof:path { $($member:ident = $field:literal),* })*) => {
        $(impl $crate::sample::Oneof for $oneof {
            fn members() -> Vec<Self> {
                vec![$(Self::$member($crate::sample::Sample::sample($field))),*]
            }
        }

        impl $crate::sample::Sample for $oneof {
            fn sample(_: &str) -> Self {
                <Self as $crate::sample::Oneof>::members().remove(0)
            }
        })*
    };
}
pub(crate) use oneofs;

impl Sample for String {
    fn sample(field: &str) -> Self {
        field.to_owned()
    }
}

impl Sample for Bytes {
    fn sample(field: &str) -> Self {
        Self::copy_from_slice(field.as_bytes())
    }
}

impl Sample for bool {
    fn sample(_: &str) -> Self {
        true
    }
}

impl Sample for i32 {
    fn sample(field: &str) -> Self {
        field.len().try_into().unwrap()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(field: &str) -> Self {
        Some(T::sample(field))
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(field: &str) -> Self {
        vec![T::sample(field)]
    }
}

impl<T: Sample> Sample for BTreeMap<String, T> {
    fn sample(field: &str) -> Self {
        Self::from([(field.to_owned(), T::sample(field))])
    }
}

impl Sample for Value {
    fn sample(field: &str) -> Self {
        Self { kind: Some(Kind::StringValue(field.to_owned())) }
    }
}

impl Sample for Struct {
    fn sample(field: &str) -> Self {
        Self { fields: Sample::sample(field) }
    }
}

impl Sample for Timestamp {
    fn sample(field: &str) -> Self {
        Self { seconds: i32::sample(field).into(), nanos: 500_000_000 }
    }
}

impl Sample for Duration {
    fn sample(field: &str) -> Self {
        Self { seconds: i32::sample(field).into(), nanos: 500_000_000 }
    }
}

impl Sample for Any {
    fn sample(field: &str) -> Self {
        Self::from_msg(&ErrorInfo::sample(field)).unwrap()
    }
}
