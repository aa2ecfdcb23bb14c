//! The SDKs for Python, which parse strictly.

use latimer_protocol::card::{Form, TransitionHistory};
use latimer_protocol::{Dialect, Operation};

use super::Sdk;
use super::change::Change;
use super::leg::{Leg, Type};
use crate::carried::Wire;

/// The protobuf files of 0.3 that came before tasks could be listed.
const NO_LISTS: &[(Type, Operation, &str)] = &[
    (Type::Request, Operation::ListTasks, "no such RPC"),
    (Type::Reply, Operation::ListTasks, "no such RPC"),
];

/// The schema of 0.2 that came before extended cards were asked for over JSON-RPC.
const NO_EXTENDED_CARD: &[(Type, Operation, &str)] = &[
    (Type::Request, Operation::GetExtendedAgentCard, "no such method"),
    (Type::Reply, Operation::GetExtendedAgentCard, "no such method"),
];

const IN_THE_ADDRESS: &str = "all of it is in the address";

const BODIES: &[(Type, Operation, &str)] = &[
    (Type::Request, Operation::ListTasks, "no such RPC"),
    (Type::Reply, Operation::ListTasks, "no such RPC"),
    (Type::Request, Operation::GetTask, IN_THE_ADDRESS),
    (Type::Request, Operation::SubscribeToTask, IN_THE_ADDRESS),
    (Type::Request, Operation::GetTaskPushNotificationConfig, IN_THE_ADDRESS),
    (Type::Request, Operation::ListTaskPushNotificationConfigs, IN_THE_ADDRESS),
    (Type::Request, Operation::DeleteTaskPushNotificationConfig, IN_THE_ADDRESS),
    (Type::Request, Operation::GetExtendedAgentCard, IN_THE_ADDRESS),
    (Type::Reply, Operation::GetExtendedAgentCard, "the client reads it by the schema: see below"),
];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_1_0_parses_what_we_write() {
    let mut sdk = Sdk::python("1.x");
    let json = Leg::new(&mut sdk, "json", Wire::Json(Dialect::V1_0));
    let mut json = Leg { inner: Some(Wire::V1_0Protobuf), ..json };
    json.check();
    json.errors();
    json.published(Form::V1_0);
    let mut superset = Leg::new(&mut sdk, "superset", Wire::Json(Dialect::V1_0));
    superset.published(Form::Superset(TransitionHistory::NotKept));
    Leg::new(&mut sdk, "protobuf", Wire::V1_0Protobuf).check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_0_3_parses_what_we_write() {
    let mut sdk = Sdk::python("0.3");
    let json = Leg::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    let mut json = Leg { limits: &[Change::KeyPlaces, Change::OAuth], ..json };
    json.check();
    json.errors();
    json.published(Form::V0_3(TransitionHistory::Kept));
    let proto_json = Leg::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    Leg { inner: Some(Wire::V0_3Protobuf), without: BODIES, ..proto_json }.check();
    let card = Leg::new(&mut sdk, "proto-json", Wire::Json(Dialect::V0_3Proto));
    Leg { limits: &[Change::KeyPlaces], losses: &[Change::OAuth], ..card }
        .card_replies("GetAgentCard");
    let protobuf = Leg::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    Leg { without: NO_LISTS, losses: &[Change::References], ..protobuf }.check();
}

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn python_0_2_parses_what_we_write() {
    let mut sdk = Sdk::python("0.2");
    let json = Leg::new(&mut sdk, "json", Wire::Json(Dialect::V0_3));
    let limits = &[Change::KeyPlaces, Change::OAuth, Change::Security];
    let mut json = Leg { without: NO_EXTENDED_CARD, limits, ..json };
    json.check();
    json.errors();
    json.published(Form::V0_3(TransitionHistory::Kept));
    let protobuf = Leg::new(&mut sdk, "protobuf", Wire::V0_3Protobuf);
    // What the protobuf file of 0.3 added to that of 0.2.
    let losses = &[
        Change::References,
        Change::PartMetadata,
        Change::FileNames,
        Change::Security,
        Change::Icon,
    ];
    Leg { without: NO_LISTS, losses, ..protobuf }.check();
}
