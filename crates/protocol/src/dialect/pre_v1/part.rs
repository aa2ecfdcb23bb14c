//! Parts of all versions before 1.0: tagged by `kind` or `type`, or untagged; nested or flat.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::JsonFlavor;
use crate::json::InvalidField;
use crate::model::wire::from_base64;
use crate::model::{self, Content, Metadata, wire};

/// Member under which a non-object value is wrapped in a data part.
pub(in crate::dialect) const WRAPPED_VALUE_KEY: &str = "value";
/// Metadata key that marks a data part as wrapped.
pub(in crate::dialect) const WRAPPED_FLAG_KEY: &str = "data_part_compat";

/// Part in any format.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    kind: Option<String>,
    r#type: Option<String>,
    text: Option<String>,
    file: Option<File>,
    #[serde(default, deserialize_with = "wire::present")]
    data: Option<Value>,
    // Members of 1.0 and of flat file parts.
    raw: Option<String>,
    #[serde(alias = "uri")]
    url: Option<String>,
    #[serde(alias = "name")]
    filename: Option<String>,
    #[serde(alias = "mimeType", alias = "mime_type", alias = "media_type")]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

/// Content of a file part.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    bytes: Option<String>,
    #[serde(alias = "file_with_bytes")]
    file_with_bytes: Option<String>,
    #[serde(alias = "fileWithUri", alias = "file_with_uri")]
    uri: Option<String>,
    name: Option<String>,
    #[serde(alias = "mime_type", alias = "mediaType")]
    mime_type: Option<String>,
}

impl Part {
    pub(super) fn into_model(mut self, flavor: JsonFlavor) -> Result<model::Part, InvalidField> {
        let content = self.take_content(flavor)?;
        let mut part = model::Part {
            content,
            metadata: self.metadata,
            filename: self.filename.filter(|it| !it.is_empty()),
            media_type: self.media_type.filter(|it| !it.is_empty()),
        };
        unwrap_value(&mut part);
        Ok(part)
    }

    fn take_content(&mut self, flavor: JsonFlavor) -> Result<Content, InvalidField> {
        let tag = self.kind.take().or(self.r#type.take());
        if let Some(tag) = tag.as_deref()
            && !["text", "file", "data"].iter().any(|kind| tag.eq_ignore_ascii_case(kind))
        {
            return Err(InvalidField::new("kind", "must be text, file or data"));
        }
        let flat_file = tag.as_deref() == Some("file") && self.file.is_none();
        let file = self.file.take().unwrap_or_default();
        let File { bytes, file_with_bytes, uri, .. } = &file;
        let has_file_content = bytes.is_some() || file_with_bytes.is_some() || uri.is_some();
        let (bytes, double_encoded, uri) = (file.bytes, file.file_with_bytes, file.uri);
        if let Some(name) = file.name {
            self.filename = Some(name);
        }
        if let Some(mime_type) = file.mime_type {
            self.media_type = Some(mime_type);
        }
        let mut contents = Vec::with_capacity(1);
        if let Some(text) = self.text.take() {
            contents.push(Content::Text(text));
        }
        if let Some(text) = bytes {
            contents
                .push(Content::Raw(decode_base64(&text).map_err(|it| it.within("file.bytes"))?));
        }
        if let Some(text) = double_encoded {
            let bytes = decode_base64(&text).map_err(|it| it.within("file.fileWithBytes"))?;
            contents.push(Content::Raw(decode_if_base64(bytes)));
        }
        if let Some(url) = uri.or_else(|| self.url.take().filter(|_| !has_file_content)) {
            contents.push(Content::Url(url));
        }
        if let Some(text) = self.raw.take() {
            contents.push(Content::Raw(decode_base64(&text).map_err(|it| it.within("raw"))?));
        }
        match self.data.take() {
            Some(Value::String(text)) if flat_file => {
                contents.push(Content::Raw(decode_base64(&text).map_err(|it| it.within("data"))?));
            }
            Some(value) => {
                let value = unwrap_data(value, tag.as_deref(), flavor)?;
                contents.push(Content::Data(Box::new(value)));
            }
            None => {}
        }
        let content = contents.pop();
        match (content, contents.is_empty()) {
            (Some(content), true) => Ok(content),
            (Some(_), false) => {
                Err(InvalidField::new("", "contains more than one of text, file and data"))
            }
            (None, _) => match tag.as_deref() {
                Some(tag) => Err(InvalidField::missing(tag)),
                None => Err(InvalidField::new("", "needs one of text, file or data")),
            },
        }
    }
}

/// Unwraps the value of a data part. ProtoJSON nests it in a message with one member. A tagged part
/// is not ProtoJSON, whatever the flavor.
fn unwrap_data(value: Value, tag: Option<&str>, flavor: JsonFlavor) -> Result<Value, InvalidField> {
    match (flavor, tag, value) {
        (JsonFlavor::ProtoJson, None, Value::Object(mut members)) => match members.remove("data") {
            Some(inner) => Ok(inner),
            // An empty message is an empty object.
            None if members.is_empty() => Ok(Value::Object(members)),
            None => Err(InvalidField::missing("data.data")),
        },
        (_, _, value) => Ok(value),
    }
}

fn decode_base64(text: &str) -> Result<Bytes, InvalidField> {
    let bytes = from_base64(text).ok_or_else(|| InvalidField::new("", "is not base64"))?;
    Ok(bytes.into())
}

/// Decodes the bytes of a protobuf file part of 0.3. Most peers store base64 text in the bytes
/// field, others the raw bytes, so valid base64 text is decoded once more.
pub(in crate::dialect) fn decode_if_base64(bytes: Bytes) -> Bytes {
    let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len().is_multiple_of(4));
    match text.and_then(from_base64) {
        Some(inner) => inner.into(),
        None => bytes,
    }
}

/// Unwraps a non-object value.
pub(in crate::dialect) fn unwrap_value(part: &mut model::Part) {
    if part.metadata.get(WRAPPED_FLAG_KEY) != Some(&Value::Bool(true)) {
        return;
    }
    if let Content::Data(value) = &mut part.content
        && let Value::Object(members) = &mut **value
        && members.len() == 1
        && let Some(inner) = members.remove(WRAPPED_VALUE_KEY)
    {
        **value = inner;
        part.metadata.remove(WRAPPED_FLAG_KEY);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json;

    fn read(wire: &Value, flavor: JsonFlavor) -> Result<model::Part, InvalidField> {
        json::from_value::<Part>(wire)?.into_model(flavor)
    }

    #[test]
    fn all_part_formats_are_decoded() {
        let raw = model::Part::raw("hi", "text/plain").with_filename("n");
        let url = model::Part::url("https://example.com/a", "text/plain").with_filename("n");
        let [schema, proto] = [JsonFlavor::Schema, JsonFlavor::ProtoJson];
        for (flavor, wire, want) in [
            (schema, json!({"kind": "text", "text": "a"}), model::Part::text("a")),
            (schema, json!({"type": "text", "text": "a"}), model::Part::text("a")),
            (schema, json!({"text": "a"}), model::Part::text("a")),
            (proto, json!({"kind": "text", "text": "a"}), model::Part::text("a")),
            (
                schema,
                json!({"kind": "file", "file": {"bytes": "aGk=", "name": "n", "mimeType": "text/plain"}}),
                raw.clone(),
            ),
            (
                schema,
                json!({"type": "file", "name": "n", "mime_type": "text/plain", "data": "aGk="}),
                raw.clone(),
            ),
            (
                proto,
                json!({"file": {"fileWithBytes": "YUdrPQ==", "name": "n", "mimeType": "text/plain"}}),
                raw.clone(),
            ),
            (
                proto,
                json!({"file": {"file_with_bytes": "aGk=", "name": "n", "mime_type": "text/plain"}}),
                raw.clone(),
            ),
            (schema, json!({"raw": "aGk=", "filename": "n", "mediaType": "text/plain"}), raw),
            (
                schema,
                json!({"kind": "file", "file": {"uri": "https://example.com/a", "name": "n", "mimeType": "text/plain"}}),
                url.clone(),
            ),
            (
                proto,
                json!({"file": {"fileWithUri": "https://example.com/a", "name": "n", "mimeType": "text/plain"}}),
                url,
            ),
            (
                schema,
                json!({"kind": "data", "data": {"data": 1}}),
                model::Part::data(json!({"data": 1})),
            ),
            (proto, json!({"data": {"data": {"a": 1}}}), model::Part::data(json!({"a": 1}))),
            (
                proto,
                json!({"kind": "data", "data": {"data": 1}}),
                model::Part::data(json!({"data": 1})),
            ),
            (
                schema,
                json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}),
                model::Part::data(json!([1])),
            ),
        ] {
            assert_eq!(read(&wire, flavor), Ok(want), "{wire}");
        }
    }

    #[test]
    fn invalid_part_error_names_the_field() {
        for (wire, want) in [
            (json!({}), "needs one of text, file or data"),
            (json!({"kind": "text"}), "text: is required"),
            (json!({"kind": "file", "file": {}}), "file: is required"),
            (json!({"kind": "video"}), "kind: must be text, file or data"),
            (json!({"type": "video", "text": "a"}), "kind: must be text, file or data"),
            (json!({"kind": "file", "file": {"bytes": "*"}}), "file.bytes: is not base64"),
            (json!({"text": "a", "data": {}}), "contains more than one of text, file and data"),
            (
                json!({"kind": "file", "file": {"bytes": "", "uri": "u"}}),
                "contains more than one of text, file and data",
            ),
        ] {
            assert_eq!(read(&wire, JsonFlavor::Schema).unwrap_err().to_string(), want, "{wire}");
        }
    }
}
