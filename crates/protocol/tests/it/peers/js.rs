//! The SDKs for JavaScript.

use latimer_protocol::card::{CardFormat, TransitionHistory};
use latimer_protocol::{Dialect, Operation, Version};

use super::Sdk;
use super::change::ModelChange;
use super::peer_leg::{MessageKind, PeerLeg};
use crate::field_coverage::Wire;

/// The SDK has no lists of tasks over 0.3.
const UNSUPPORTED_LISTS: &[(MessageKind, Operation, &str)] = &[
    (MessageKind::Request, Operation::ListTasks, "no such call"),
    (MessageKind::Reply, Operation::ListTasks, "no such call"),
];

/// What gets lost between its protobuf types and those of its schema. The bytes of a file are base64
/// text to the SDK for Python, which fails on anything else, and are bytes to this one; requirements
/// have the schema's shape, which the other reads, and not the protobuf file's.
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

/// What its protobuf file does not have, and what its codecs lose.
const PROTOBUF_LOSSES: &[ModelChange] = &[
    ModelChange::References,
    ModelChange::PartMetadata,
    ModelChange::FileNames,
    ModelChange::Icon,
    ModelChange::NoScopes,
];

/// Its protobuf codecs write times before 1970 with negative nanoseconds, which is no protobuf.
const TIMES: &[ModelChange] = &[ModelChange::Times];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_v1_0_parses_latimer_output() {
    let mut sdk = Sdk::javascript(Version::V1_0);
    let json = PeerLeg::new(&mut sdk, "json", Wire::Json(Dialect::V1_0));
    // Its codecs take null for nothing.
    let limits = &[ModelChange::NullData];
    let mut json = PeerLeg { inner_wire: Some(Wire::V1_0Protobuf), limits, ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V1_0);
    let mut superset = PeerLeg::new(&mut sdk, "superset", Wire::Json(Dialect::V1_0));
    superset.check_published_cards(CardFormat::Superset(TransitionHistory::NotRecorded));
    let protobuf = PeerLeg::new(&mut sdk, "protobuf", Wire::V1_0Protobuf);
    PeerLeg { limits: TIMES, losses: &[ModelChange::NoScopes], ..protobuf }.check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn js_v0_3_parses_latimer_output() {
    let mut sdk = Sdk::javascript(Version::V0_3);
    let json = PeerLeg::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    // By that name its resolver takes a card for one of another shape.
    let mut json = PeerLeg { limits: &[ModelChange::Schemes], ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V0_3(TransitionHistory::Recorded));
    let proto_json = PeerLeg::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    let mut proto_json = PeerLeg {
        inner_wire: Some(Wire::Json(Dialect::V0_3)),
        reply_dialect: Dialect::V0_3,
        over_http: true,
        unsupported: UNSUPPORTED_LISTS,
        // A flow that it does not know costs it the card.
        limits: &[ModelChange::OAuth, ModelChange::Schemes],
        losses: CONVERSION_LOSSES,
        ..proto_json
    };
    proto_json.check();
    let protobuf = PeerLeg::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    // They also write a null as the number 0.
    let limits = &[ModelChange::Times, ModelChange::Nulls];
    PeerLeg { unsupported: UNSUPPORTED_LISTS, limits, losses: PROTOBUF_LOSSES, ..protobuf }.check();
}
