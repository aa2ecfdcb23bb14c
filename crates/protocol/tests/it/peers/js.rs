//! The SDKs for JavaScript.

use latimer_protocol::card::{Form, TransitionHistory};
use latimer_protocol::{Dialect, Operation, Version};

use super::Sdk;
use super::change::Change;
use super::leg::{Leg, Type};
use crate::carried::Wire;

/// The SDK has no lists of tasks over 0.3.
const NO_LISTS: &[(Type, Operation, &str)] = &[
    (Type::Request, Operation::ListTasks, "no such call"),
    (Type::Reply, Operation::ListTasks, "no such call"),
];

/// What gets lost between its protobuf types and those of its schema. The bytes of a file are base64
/// text to the SDK for Python, which fails on anything else, and are bytes to this one; requirements
/// have the schema's shape, which the other reads, and not the protobuf file's.
const CONVERTED: &[Change] = &[
    Change::PartMetadata,
    Change::FileNames,
    Change::BytesAsText,
    Change::ArtifactExtensions,
    Change::Append,
    Change::HistoryLength,
    Change::Configuration,
    Change::Icon,
    Change::Defaults,
    Change::Requirements,
];

/// What its protobuf file does not have, and what its codecs lose.
const OLDER_FILE: &[Change] =
    &[Change::References, Change::PartMetadata, Change::FileNames, Change::Icon, Change::NoScopes];

/// Its protobuf codecs write times before 1970 with negative nanoseconds, which is no protobuf.
const TIMES: &[Change] = &[Change::Times];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_1_0_parses_what_we_write() {
    let mut sdk = Sdk::javascript(Version::V1_0);
    let json = Leg::new(&mut sdk, "json", Wire::Json(Dialect::V1_0));
    // Its codecs take null for nothing.
    let limits = &[Change::NullData];
    let mut json = Leg { inner: Some(Wire::V1_0Protobuf), limits, ..json };
    json.check();
    json.errors();
    json.published(Form::V1_0);
    let mut superset = Leg::new(&mut sdk, "superset", Wire::Json(Dialect::V1_0));
    superset.published(Form::Superset(TransitionHistory::NotKept));
    let protobuf = Leg::new(&mut sdk, "protobuf", Wire::V1_0Protobuf);
    Leg { limits: TIMES, losses: &[Change::NoScopes], ..protobuf }.check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_0_3_parses_what_we_write() {
    let mut sdk = Sdk::javascript(Version::V0_3);
    let json = Leg::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    // By that name its resolver takes a card for one of another shape.
    let mut json = Leg { limits: &[Change::Schemes], ..json };
    json.check();
    json.errors();
    json.published(Form::V0_3(TransitionHistory::Kept));
    let proto_json = Leg::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    let mut proto_json = Leg {
        inner: Some(Wire::Json(Dialect::V0_3)),
        back: Dialect::V0_3,
        addressed: true,
        without: NO_LISTS,
        // A flow that it does not know costs it the card.
        limits: &[Change::OAuth, Change::Schemes],
        losses: CONVERTED,
        ..proto_json
    };
    proto_json.check();
    let protobuf = Leg::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    // They also write a null as the number 0.
    let limits = &[Change::Times, Change::Nulls];
    Leg { without: NO_LISTS, limits, losses: OLDER_FILE, ..protobuf }.check();
}
