//! Reads what `record.py` has written.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// One recorded file.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) messages: Vec<Message>,
    /// Full name of the enum and its values, each `number name`.
    pub(crate) enums: Vec<(String, Vec<String>)>,
    /// Each `service.method input output`.
    pub(crate) methods: Vec<String>,
}

/// One message type and filled instances of it.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: String,
    /// Each `number name json-name presence type oneof`.
    pub(crate) fields: Vec<String>,
    /// One instance, or one for each member of the oneof.
    pub(crate) samples: Vec<Vec<u8>>,
}

impl Recorded {
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
