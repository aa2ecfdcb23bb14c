//! Content of messages and artifacts.

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::Metadata;
use super::wire::{self, ExactlyOneError};

/// One piece of content: text, bytes, a URL or a JSON value.
///
/// ```
/// # use latimer_protocol::Part;
/// # use serde_json::json;
/// assert_eq!(json!(Part::text("hi")), json!({"text": "hi"}));
/// assert_eq!(
///     json!(Part::raw("hi", "text/plain").with_filename("hi.txt")),
///     json!({"raw": "aGk=", "filename": "hi.txt", "mediaType": "text/plain"}),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "PartFields")]
pub struct Part {
    /// The content itself.
    pub content: Content,
    /// Application-defined metadata.
    pub metadata: Metadata,
    /// File name of the content.
    pub filename: Option<String>,
    /// Media type of the content, such as `image/png`.
    pub media_type: Option<String>,
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes, embedded in the part.
    Raw(Bytes),
    /// URL of the content.
    Url(String),
    /// JSON value, including `null`.
    Data(Box<Value>),
}

impl Part {
    /// Creates a part without metadata, file name or media type.
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self { content, metadata: Metadata::new(), filename: None, media_type: None }
    }

    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// Creates a part of embedded bytes.
    pub fn raw(bytes: impl Into<Bytes>, media_type: impl Into<String>) -> Self {
        Self::new(Content::Raw(bytes.into())).with_media_type(media_type)
    }

    /// Creates a part that refers to content by URL.
    pub fn url(url: impl Into<String>, media_type: impl Into<String>) -> Self {
        Self::new(Content::Url(url.into())).with_media_type(media_type)
    }

    /// Creates a part of structured data.
    pub fn data(value: impl Into<Value>) -> Self {
        Self::new(Content::Data(Box::new(value.into())))
    }

    /// Sets the file name.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<String>) -> Self {
        self.filename = Some(filename.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Members of a part before validation that it has exactly one content.
#[derive(Deserialize)]
struct PartFields {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, deserialize_with = "wire::base64_bytes")]
    raw: Option<Bytes>,
    #[serde(default)]
    url: Option<String>,
    // The only member where `null` is a value.
    #[serde(default, deserialize_with = "wire::present")]
    data: Option<Box<Value>>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "wire::optional_text")]
    filename: Option<String>,
    #[serde(
        default,
        alias = "media_type",
        rename = "mediaType",
        deserialize_with = "wire::optional_text"
    )]
    media_type: Option<String>,
}

impl TryFrom<PartFields> for Part {
    type Error = &'static str;

    fn try_from(members: PartFields) -> Result<Self, Self::Error> {
        let content = wire::exactly_one([
            members.text.map(Content::Text),
            members.raw.map(Content::Raw),
            members.url.map(Content::Url),
            members.data.map(Content::Data),
        ]);
        let content = content.map_err(|error| match error {
            ExactlyOneError::None => "needs one of text, raw, url or data",
            ExactlyOneError::Several => "contains more than one of text, raw, url and data",
        })?;
        let PartFields { metadata, filename, media_type, .. } = members;
        Ok(Self { content, metadata, filename, media_type })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Raw<'a>(#[serde(serialize_with = "write_raw")] &'a Bytes);

        fn write_raw<S: Serializer>(bytes: &&Bytes, out: S) -> Result<S::Ok, S::Error> {
            wire::write_base64(bytes, out)
        }

        use serde::ser::SerializeMap;
        let mut members = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => members.serialize_entry("text", text)?,
            Content::Raw(bytes) => members.serialize_entry("raw", &Raw(bytes))?,
            Content::Url(url) => members.serialize_entry("url", url)?,
            Content::Data(value) => members.serialize_entry("data", value)?,
        }
        if !self.metadata.is_empty() {
            members.serialize_entry("metadata", &self.metadata)?;
        }
        if let Some(filename) = &self.filename {
            members.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            members.serialize_entry("mediaType", media_type)?;
        }
        members.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_and_empty_values_are_valid_part_content() {
        for value in [json!(null), json!(false), json!(""), json!(0), json!([]), json!({})] {
            let wire = json!({ "data": value });
            let part: Part = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(part, Part::data(value));
            assert_eq!(json!(part), wire);
        }
        for wire in [json!({"text": ""}), json!({"raw": ""}), json!({"url": ""})] {
            let part: Part = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(json!(part), wire);
        }
    }

    #[test]
    fn part_requires_exactly_one_content() {
        for wire in [
            json!({}),
            json!({"text": null}),
            json!({"metadata": {"a": 1}}),
            json!({"text": "a", "data": null}),
            json!({"raw": "", "url": "https://example.com"}),
        ] {
            assert!(serde_json::from_value::<Part>(wire.clone()).is_err(), "{wire}");
        }
        let wire = json!({"text": "a", "url": null});
        assert_eq!(serde_json::from_value::<Part>(wire).unwrap(), Part::text("a"));
    }
}
