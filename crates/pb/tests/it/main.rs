//! Compares the generated code with messages encoded by the official Python SDKs.
//!
//! `tests/peer-bytes/record.py` fills every message of the SDKs by a fixed rule and records the
//! bytes and the schema of each type. The tests build the same instances by field name and compare
//! both directions.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use recorded::RecordedPackage;

#[cfg(feature = "grpc")]
mod grpc;
mod recorded;
mod rpc;
mod sample;
mod schema;
mod v0_3;
mod v1;

const V1: &str = include_str!("../peer-bytes/1.0.json");
const V0_3: &str = include_str!("../peer-bytes/0.3.json");
const RPC: &str = include_str!("../peer-bytes/google.rpc.json");

/// Fields, types and methods of `a2a.v1` that only the Go SDK has.
const ONLY_IN_GO: [&str; 15] = [
    "a2a.v1.A2AService.ListTasks a2a.v1.ListTasksRequest a2a.v1.ListTasksResponse",
    "a2a.v1.AgentCapabilities: 4 state_transition_history stateTransitionHistory single TYPE_BOOL -",
    "a2a.v1.ListTasksRequest",
    "a2a.v1.ListTasksRequest: 1 context_id contextId single TYPE_STRING -",
    "a2a.v1.ListTasksRequest: 2 status status single .a2a.v1.TaskState -",
    "a2a.v1.ListTasksRequest: 3 page_size pageSize single TYPE_INT32 -",
    "a2a.v1.ListTasksRequest: 4 page_token pageToken single TYPE_STRING -",
    "a2a.v1.ListTasksRequest: 5 history_length historyLength single TYPE_INT32 -",
    "a2a.v1.ListTasksRequest: 6 last_updated_time lastUpdatedTime single .google.protobuf.Timestamp -",
    "a2a.v1.ListTasksRequest: 7 include_artifacts includeArtifacts single TYPE_BOOL -",
    "a2a.v1.ListTasksResponse",
    "a2a.v1.ListTasksResponse: 1 tasks tasks repeated .a2a.v1.Task -",
    "a2a.v1.ListTasksResponse: 2 next_page_token nextPageToken single TYPE_STRING -",
    "a2a.v1.ListTasksResponse: 3 total_size totalSize single TYPE_INT32 -",
    "a2a.v1.Message: 8 reference_task_ids referenceTaskIds repeated TYPE_STRING -",
];

#[test]
fn bytes_of_the_1_0_sdk_survive_a_round_trip() {
    sample::check(&v1::rows(), &RecordedPackage::parse(V1));
}

#[test]
fn bytes_of_the_0_3_sdk_survive_a_round_trip() {
    sample::check(&v0_3::rows(), &RecordedPackage::parse(V0_3));
}

#[test]
fn bytes_of_error_details_survive_a_round_trip() {
    sample::check(&rpc::rows(), &RecordedPackage::parse(RPC));
}

#[test]
fn schema_matches_the_1_0_sdk() {
    schema::check("lf.a2a.v1", &RecordedPackage::parse(V1), &[]);
}

#[test]
fn schema_matches_the_0_3_sdks() {
    schema::check("a2a.v1", &RecordedPackage::parse(V0_3), &ONLY_IN_GO);
}

#[test]
fn error_details_schema_matches_the_published_one() {
    schema::check("google.rpc", &RecordedPackage::parse(RPC), &[]);
}
