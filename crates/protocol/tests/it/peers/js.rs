//! The JavaScript SDKs.

use latimer_protocol::card::{CardFormat, TransitionHistory};
use latimer_protocol::{Dialect, Operation, Version};

use super::Sdk;
use super::change::ModelChange;
use super::sdk_round_trip::{MessageKind, SdkRoundTrip};
use crate::field_coverage::Wire;

/// Messages that the SDK lacks over 0.3.
const UNSUPPORTED_LISTS: &[(MessageKind, Operation, &str)] = &[
    (MessageKind::Request, Operation::ListTasks, "no such call"),
    (MessageKind::Reply, Operation::ListTasks, "no such call"),
];

/// Losses of the conversion between its protobuf types and its schema types. The Python SDK treats
/// file bytes as base64 text and rejects others, this SDK treats them as bytes; requirements have
/// the format of the schema, not of the protobuf file.
const CONVERSION_LOSSES: &[ModelChange] = &[
    ModelChange::PartMetadata,
    ModelChange::FileNames,
    ModelChange::BytesAsText,
    ModelChange::ArtifactExtensions,
    ModelChange::Append,
    ModelChange::HistoryLength,
    ModelChange::Configuration,
    ModelChange::Icon,
    ModelChange::Defaults,
    ModelChange::Requirements,
];

/// Members that its protobuf file lacks or its codecs lose.
const PROTOBUF_LOSSES: &[ModelChange] = &[
    ModelChange::References,
    ModelChange::PartMetadata,
    ModelChange::FileNames,
    ModelChange::Icon,
    ModelChange::NoScopes,
];

/// Its protobuf codecs encode times before 1970 with negative nanoseconds, which is invalid.
const TIMES: &[ModelChange] = &[ModelChange::Times];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_v1_0_parses_latimer_output() {
    let mut sdk = Sdk::javascript(Version::V1_0);
    let json = SdkRoundTrip::new(&mut sdk, "json", Wire::Json(Dialect::V1_0));
    // Its codecs take `null` for absence.
    let limits = &[ModelChange::NullData];
    let mut json = SdkRoundTrip { inner_wire: Some(Wire::V1_0Protobuf), limits, ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V1_0);
    let mut superset = SdkRoundTrip::new(&mut sdk, "superset", Wire::Json(Dialect::V1_0));
    superset.check_published_cards(CardFormat::Superset(TransitionHistory::NotRecorded));
    let protobuf = SdkRoundTrip::new(&mut sdk, "protobuf", Wire::V1_0Protobuf);
    SdkRoundTrip { limits: TIMES, losses: &[ModelChange::NoScopes], ..protobuf }.check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_v0_3_parses_latimer_output() {
    let mut sdk = Sdk::javascript(Version::V0_3);
    let json = SdkRoundTrip::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    // Its resolver mistakes a requirement of this name for another format.
    let mut json = SdkRoundTrip { limits: &[ModelChange::Schemes], ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V0_3(TransitionHistory::Recorded));
    let proto_json = SdkRoundTrip::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    let mut proto_json = SdkRoundTrip {
        inner_wire: Some(Wire::Json(Dialect::V0_3)),
        reply_dialect: Dialect::V0_3,
        over_http: true,
        unsupported: UNSUPPORTED_LISTS,
        // An unknown OAuth flow makes it reject the card.
        limits: &[ModelChange::OAuth, ModelChange::Schemes],
        losses: CONVERSION_LOSSES,
        ..proto_json
    };
    proto_json.check();
    let protobuf = SdkRoundTrip::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    // It also encodes `null` as the number 0.
    let limits = &[ModelChange::Times, ModelChange::Nulls];
    SdkRoundTrip { unsupported: UNSUPPORTED_LISTS, limits, losses: PROTOBUF_LOSSES, ..protobuf }
        .check();
}
