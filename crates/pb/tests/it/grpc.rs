//! gRPC service names and reflection.

use latimer_pb::{FILE_DESCRIPTOR_SET, v0_3, v1};
use prost::Message as _;
use prost_types::FileDescriptorSet;

#[test]
fn service_names_match_the_protocol() {
    assert_eq!(v1::server::SERVICE_NAME, "lf.a2a.v1.A2AService");
    assert_eq!(v0_3::server::SERVICE_NAME, "a2a.v1.A2AService");
}

#[test]
fn descriptor_set_contains_every_import() {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let names: Vec<&str> = set.file.iter().map(|file| file.name()).collect();
    for file in &set.file {
        for import in &file.dependency {
            assert!(names.contains(&import.as_str()), "{} imports {import}", file.name());
        }
    }
}
