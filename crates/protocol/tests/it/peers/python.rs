//! The Python SDKs, which parse strictly.

use latimer_protocol::card::{CardFormat, TransitionHistory};
use latimer_protocol::{Dialect, Operation};

use super::Sdk;
use super::change::ModelChange;
use super::sdk_round_trip::{MessageKind, SdkRoundTrip};
use crate::field_coverage::Wire;

/// Messages that the 0.3 protobuf files lack before task lists were added.
const UNSUPPORTED_LISTS: &[(MessageKind, Operation, &str)] = &[
    (MessageKind::Request, Operation::ListTasks, "no such RPC"),
    (MessageKind::Reply, Operation::ListTasks, "no such RPC"),
];

/// Messages that the 0.2 schema lacks before extended cards over JSON-RPC were added.
const UNSUPPORTED_EXTENDED_CARD: &[(MessageKind, Operation, &str)] = &[
    (MessageKind::Request, Operation::GetExtendedAgentCard, "no such method"),
    (MessageKind::Reply, Operation::GetExtendedAgentCard, "no such method"),
];

const PARAMETERS_IN_URL: &str = "all parameters are part of the URL";

const UNSUPPORTED_BODIES: &[(MessageKind, Operation, &str)] = &[
    (MessageKind::Request, Operation::ListTasks, "no such RPC"),
    (MessageKind::Reply, Operation::ListTasks, "no such RPC"),
    (MessageKind::Request, Operation::GetTask, PARAMETERS_IN_URL),
    (MessageKind::Request, Operation::SubscribeToTask, PARAMETERS_IN_URL),
    (MessageKind::Request, Operation::GetTaskPushNotificationConfig, PARAMETERS_IN_URL),
    (MessageKind::Request, Operation::ListTaskPushNotificationConfigs, PARAMETERS_IN_URL),
    (MessageKind::Request, Operation::DeleteTaskPushNotificationConfig, PARAMETERS_IN_URL),
    (MessageKind::Request, Operation::GetExtendedAgentCard, PARAMETERS_IN_URL),
    (
        MessageKind::Reply,
        Operation::GetExtendedAgentCard,
        "the client reads it in schema format: see below",
    ),
];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_v1_0_parses_latimer_output() {
    let mut sdk = Sdk::python("1.x");
    let json = SdkRoundTrip::new(&mut sdk, "json", Wire::Json(Dialect::V1_0));
    let mut json = SdkRoundTrip { inner_wire: Some(Wire::V1_0Protobuf), ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V1_0);
    let mut superset = SdkRoundTrip::new(&mut sdk, "superset", Wire::Json(Dialect::V1_0));
    superset.check_published_cards(CardFormat::Superset(TransitionHistory::NotRecorded));
    SdkRoundTrip::new(&mut sdk, "protobuf", Wire::V1_0Protobuf).check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_v0_3_parses_latimer_output() {
    let mut sdk = Sdk::python("0.3");
    let json = SdkRoundTrip::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    let mut json =
        SdkRoundTrip { limits: &[ModelChange::KeyLocations, ModelChange::OAuth], ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V0_3(TransitionHistory::Recorded));
    let proto_json = SdkRoundTrip::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    SdkRoundTrip {
        inner_wire: Some(Wire::V0_3Protobuf),
        unsupported: UNSUPPORTED_BODIES,
        ..proto_json
    }
    .check();
    let card = SdkRoundTrip::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    SdkRoundTrip { limits: &[ModelChange::KeyLocations], losses: &[ModelChange::OAuth], ..card }
        .check_card_replies("GetAgentCard");
    let protobuf = SdkRoundTrip::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    SdkRoundTrip { unsupported: UNSUPPORTED_LISTS, losses: &[ModelChange::References], ..protobuf }
        .check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_v0_2_parses_latimer_output() {
    let mut sdk = Sdk::python("0.2");
    let json = SdkRoundTrip::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    let limits = &[ModelChange::KeyLocations, ModelChange::OAuth, ModelChange::Security];
    let mut json = SdkRoundTrip { unsupported: UNSUPPORTED_EXTENDED_CARD, limits, ..json };
    json.check();
    json.check_errors();
    json.check_published_cards(CardFormat::V0_3(TransitionHistory::Recorded));
    let protobuf = SdkRoundTrip::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    // Members that the 0.3 protobuf file added to that of 0.2.
    let losses = &[
        ModelChange::References,
        ModelChange::PartMetadata,
        ModelChange::FileNames,
        ModelChange::Security,
        ModelChange::Icon,
    ];
    SdkRoundTrip { unsupported: UNSUPPORTED_LISTS, losses, ..protobuf }.check();
}
