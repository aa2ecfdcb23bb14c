//! Parts, tagged by `kind` in 0.3 and by `type` in 0.1.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::dialect::list_as::no_metadata;
use crate::dialect::pre_v1::WRAPPED_FLAG_KEY;
use crate::model::wire::to_base64;
use crate::model::{self, Content, Metadata};

macro_rules! tagged_parts {
    ($($(#[$doc:meta])* $name:ident $tag:literal)+) => {$(
        $(#[$doc])*
        #[derive(Serialize)]
        #[serde(tag = $tag, rename_all = "lowercase")]
        pub(in crate::dialect) enum $name<'a> {
            Text {
                text: &'a str,
                #[serde(skip_serializing_if = "Metadata::is_empty")]
                metadata: &'a Metadata,
            },
            File {
                file: File<'a>,
                #[serde(skip_serializing_if = "Metadata::is_empty")]
                metadata: &'a Metadata,
            },
            Data {
                data: Data<'a>,
                #[serde(skip_serializing_if = "no_metadata")]
                metadata: Cow<'a, Metadata>,
            },
        }

        impl<'a> From<&'a model::Part> for $name<'a> {
            fn from(part: &'a model::Part) -> Self {
                let metadata = &part.metadata;
                match &part.content {
                    Content::Text(text) => Self::Text { text, metadata },
                    Content::Raw(bytes) => {
                        let file = File { bytes: Some(to_base64(bytes)), ..File::from_part(part) };
                        Self::File { file, metadata }
                    }
                    Content::Url(url) => {
                        Self::File { file: File { uri: Some(url), ..File::from_part(part) }, metadata }
                    }
                    Content::Data(value) => {
                        let (data, metadata) = Data::from_value(value, metadata);
                        Self::Data { data, metadata }
                    }
                }
            }
        }
    )+};
}

tagged_parts! {
    /// Part of 0.3.
    Part "kind"
    /// Part of 0.1.
    TypedPart "type"
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
}

impl<'a> File<'a> {
    fn from_part(part: &'a model::Part) -> Self {
        let (name, mime_type) = (part.filename.as_deref(), part.media_type.as_deref());
        Self { bytes: None, uri: None, name, mime_type }
    }
}

/// Value of a data part. Non-object values are wrapped in an object and marked.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::dialect) enum Data<'a> {
    Object(&'a Map<String, Value>),
    Wrapped { value: &'a Value },
}

impl<'a> Data<'a> {
    pub(in crate::dialect) fn from_value(
        value: &'a Value,
        metadata: &'a Metadata,
    ) -> (Self, Cow<'a, Metadata>) {
        if let Value::Object(members) = value {
            return (Self::Object(members), Cow::Borrowed(metadata));
        }
        let mut flagged = metadata.clone();
        flagged.insert(WRAPPED_FLAG_KEY.to_owned(), Value::Bool(true));
        (Self::Wrapped { value }, Cow::Owned(flagged))
    }
}
