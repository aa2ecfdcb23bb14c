//! Recorded packages: the output of `record.py`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Recorded protobuf package.
#[derive(Debug)]
pub(crate) struct RecordedPackage {
    pub(crate) messages: Vec<Message>,
    /// Full name and values of each enum; a value is `number name`.
    pub(crate) enums: Vec<(String, Vec<String>)>,
    /// Methods, each as `service.method input output`.
    pub(crate) methods: Vec<String>,
}

/// Recorded message type with filled instances.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: String,
    /// Fields, each as `number name json-name presence type oneof`.
    pub(crate) fields: Vec<String>,
    /// Encoded instances, one per member of the oneof if there is one.
    pub(crate) samples: Vec<Vec<u8>>,
}

impl RecordedPackage {
    pub(crate) fn parse(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).unwrap();
        let enums = file["enums"].as_object().unwrap();
        Self {
            messages: file["messages"].as_array().unwrap().iter().map(message).collect(),
            enums: enums.iter().map(|(name, values)| (name.clone(), strings(values))).collect(),
            methods: strings(&file["methods"]),
        }
    }
}

fn message(value: &Value) -> Message {
    let samples = value["samples"].as_array().unwrap().iter();
    Message {
        name: value["type"].as_str().unwrap().to_owned(),
        fields: strings(&value["fields"]),
        samples: samples.map(|s| STANDARD.decode(s["bytes"].as_str().unwrap()).unwrap()).collect(),
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect()
}
