//! Compares the checked-in descriptors with the recorded schema, field by field.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    ServiceDescriptorProto, field_descriptor_proto::Label,
};

use crate::recorded::RecordedPackage;

const DESCRIPTORS: &[u8] = include_bytes!("../../src/generated/descriptor.bin");

/// Asserts that a package contains the recorded schema and, in addition, exactly `extra`.
pub(crate) fn check(package: &str, recorded: &RecordedPackage, extra: &[&str]) {
    let generated = generated_lines(package);
    let expected = recorded_lines(recorded);
    let missing: Vec<_> = expected.difference(&generated).collect();
    assert!(missing.is_empty(), "{package} lacks {missing:#?}");
    let more: Vec<_> = generated.difference(&expected).collect();
    assert_eq!(more, extra, "{package}: additions to the SDK");
}

fn recorded_lines(recorded: &RecordedPackage) -> BTreeSet<String> {
    let mut lines: BTreeSet<String> = recorded.methods.iter().cloned().collect();
    for message in &recorded.messages {
        lines.insert(message.name.clone());
        lines.extend(message.fields.iter().map(|field| format!("{}: {field}", message.name)));
    }
    for (name, values) in &recorded.enums {
        lines.extend(values.iter().map(|value| format!("{name}: {value}")));
    }
    lines
}

fn generated_lines(package: &str) -> BTreeSet<String> {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
    let mut lines = BTreeSet::new();
    for file in set.file.iter().filter(|file| file.package() == package) {
        for message in &file.message_type {
            add_message(&mut lines, package, message);
        }
        for kind in &file.enum_type {
            add_enum(&mut lines, package, kind);
        }
        for service in &file.service {
            add_service(&mut lines, package, service);
        }
    }
    lines
}

fn add_message(lines: &mut BTreeSet<String>, parent: &str, message: &DescriptorProto) {
    if message.options.as_ref().is_some_and(|options| options.map_entry()) {
        return;
    }
    let name = format!("{parent}.{}", message.name());
    for field in &message.field {
        lines.insert(format!("{name}: {}", describe(message, field)));
    }
    for nested in &message.nested_type {
        add_message(lines, &name, nested);
    }
    lines.insert(name);
}

fn describe(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let presence = match field.label() {
        Label::Repeated => "repeated",
        _ if field.proto3_optional() => "optional",
        _ => "single",
    };
    let content = match field.type_name() {
        "" => field.r#type().as_str_name(),
        name => name,
    };
    let oneof = match field.oneof_index {
        Some(index) if !field.proto3_optional() => {
            message.oneof_decl[usize::try_from(index).unwrap()].name()
        }
        _ => "-",
    };
    let (number, name, json) = (field.number(), field.name(), field.json_name());
    format!("{number} {name} {json} {presence} {content} {oneof}")
}

fn add_enum(lines: &mut BTreeSet<String>, parent: &str, kind: &EnumDescriptorProto) {
    for value in &kind.value {
        lines.insert(format!("{parent}.{}: {} {}", kind.name(), value.number(), value.name()));
    }
}

fn add_service(lines: &mut BTreeSet<String>, parent: &str, service: &ServiceDescriptorProto) {
    for method in &service.method {
        let name = format!("{parent}.{}.{}", service.name(), method.name());
        let stream = if method.server_streaming() { "stream " } else { "" };
        let input = method.input_type().trim_start_matches('.');
        let output = method.output_type().trim_start_matches('.');
        lines.insert(format!("{name} {input} {stream}{output}"));
    }
}
