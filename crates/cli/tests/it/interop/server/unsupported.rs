//! What servers cannot do, and why.

use crate::interop::sdk::UnsupportedRule;

const JS: &[&str] = &["JS "];
const JS_0_3: &[&str] = &["JS 0.3"];
const JS_1_X_AS_0_3: &[&str] = &["JS 1.3.0 as 0.3"];
const JS_SPEAKING_0_3: &[&str] = &["JS 1.3.0 as 0.3", "JS 0.3"];
const PYTHON_0_3: &[&str] = &["Python 0.3"];
const PYTHON_1_X_AS_0_3: &[&str] = &["Python 1.3.0 as 0.3"];
const PYTHON_SPEAKING_0_3: &[&str] = &["Python 1.3.0 as 0.3", "Python 0.3"];
const ALL_SPEAKING_0_3: &[&str] =
    &["Python 1.3.0 as 0.3", "Python 0.3", "JS 1.3.0 as 0.3", "JS 0.3"];

const NO_SIGNATURE: &str = "the SDK does not sign";
const SIGNATURE_OMITS_SCHEMES: &str = "the SDK leaves security schemes out of what it signs";
const NO_AUTHENTICATION: &str = "the server has it for callers that it knows, and knows none";
const SERVES_PUBLIC_CARD: &str = "the server has the public card there";
pub(in crate::interop) const DROPS_FILE_NAMES: &str = "the server drops names of files";
const NO_LIST: &str = "0.3 has no list of tasks";
const HISTORY_NEEDS_LENGTH: &str = "the server shows no history unless it is told how much";
const ZERO_MEANS_ALL_HISTORY: &str = "to the server, none is all of it";
const DUPLICATES_CHUNKS: &str = "a second reader makes the server keep each piece twice";
const SUBSCRIBER_NOT_NOTIFIED: &str = "a subscriber is not told of it";
const DIFFERENT_BODY: &str = "the server reads another body than all others";
const MISSING_OPERATION: &str = "the server does not have the call over this binding";
const DROPS_CONNECTION: &str = "the server drops the connection in place of an error";
const INTERNAL_ERROR: &str = "the server calls it an internal error";
const WRONG_ERROR_CODE: &str = "the server has the code of another error for it";
const HANGS: &str = "the server stops without a word, and is given up after two minutes";
const NOT_REJECTED: &str = "the server does it all the same";

pub(super) const UNSUPPORTED: &[UnsupportedRule] = &[
    (JS_0_3, "JHG", &["signature"], NO_SIGNATURE),
    (JS, "JHG", &["signature"], SIGNATURE_OMITS_SCHEMES),
    (JS, "JHG", &["extended_card"], NO_AUTHENTICATION),
    (PYTHON_0_3, "G", &["extended_card", "no_extended_card"], SERVES_PUBLIC_CARD),
    (JS_SPEAKING_0_3, "HG", &["file_name"], DROPS_FILE_NAMES),
    (ALL_SPEAKING_0_3, "JHG", &["list", "pages"], NO_LIST),
    (PYTHON_SPEAKING_0_3, "JHG", &["page_token"], NO_LIST),
    (JS_0_3, "JHG", &["page_token"], NO_LIST),
    (JS_1_X_AS_0_3, "JG", &["page_token"], NO_LIST),
    (JS_0_3, "JH", &["get"], HISTORY_NEEDS_LENGTH),
    (JS_1_X_AS_0_3, "G", &["get"], HISTORY_NEEDS_LENGTH),
    (PYTHON_SPEAKING_0_3, "JHG", &["get_none"], ZERO_MEANS_ALL_HISTORY),
    (JS_0_3, "JHG", &["get_none"], ZERO_MEANS_ALL_HISTORY),
    (PYTHON_0_3, "JHG", &["cut_stream_repeats_nothing", "follow"], DUPLICATES_CHUNKS),
    (PYTHON_0_3, "JHG", &["subscribe_canceled"], SUBSCRIBER_NOT_NOTIFIED),
    (JS_1_X_AS_0_3, "H", &["push_create", "push_get", "push_list", "push_delete"], DIFFERENT_BODY),
    (JS_1_X_AS_0_3, "H", &["no_push_create"], DIFFERENT_BODY),
    (PYTHON_0_3, "HG", &["push_list", "push_delete"], MISSING_OPERATION),
    (PYTHON_1_X_AS_0_3, "H", &["push_delete"], MISSING_OPERATION),
    (
        PYTHON_SPEAKING_0_3,
        "H",
        &["unknown_subscribe", "unknown_stream", "finished_subscribe"],
        DROPS_CONNECTION,
    ),
    (PYTHON_1_X_AS_0_3, "H", &["no_streaming"], DROPS_CONNECTION),
    (JS_0_3, "H", &["unknown_subscribe", "unknown_stream"], INTERNAL_ERROR),
    (PYTHON_0_3, "JHG", &["no_streaming"], INTERNAL_ERROR),
    (PYTHON_0_3, "J", &["no_extended_card", "no_push_create"], INTERNAL_ERROR),
    (PYTHON_0_3, "G", &["no_push_create"], INTERNAL_ERROR),
    (PYTHON_0_3, "J", &["no_push_get"], WRONG_ERROR_CODE),
    (JS_0_3, "G", &["finished_cancel"], WRONG_ERROR_CODE),
    (JS, "JHG", &["no_parts"], NOT_REJECTED),
    (PYTHON_0_3, "JHG", &["no_parts", "content_type"], NOT_REJECTED),
    (JS_0_3, "JHG", &["content_type", "other_context", "finished_subscribe"], NOT_REJECTED),
    (JS_0_3, "G", &["no_streaming"], NOT_REJECTED),
];

/// The same through gateways, over the bindings behind these.
pub(super) const UNSUPPORTED_VIA_GATEWAY: &[UnsupportedRule] = &[
    (&[""], "JHG", &["signature"], "a gateway signs with its own key, and has none here"),
    (&[""], "JHG", &["extended_card"], "a gateway publishes the public card only"),
    (&[""], "JHG", &["no_streaming"], "a gateway streams what its agent does not"),
    (
        &[""],
        "JHG",
        &["no_push_create", "no_push_get"],
        "a gateway has webhooks although its agent has none",
    ),
    (JS_0_3, "HG", &["file_name"], DROPS_FILE_NAMES),
    (PYTHON_0_3, "JHG", &["cut_stream_repeats_nothing"], DUPLICATES_CHUNKS),
    (PYTHON_0_3, "H", &["agent_refuses", "agent_crashes"], HANGS),
    (PYTHON_0_3, "J", &["agent_crashes"], HANGS),
];

/// What callers of gateways cannot do, by the version they speak.
pub(super) const UNSUPPORTED_FOR_VERSION: &[UnsupportedRule] = &[
    (&["0.3"], "J", &["list", "pages", "page_token"], NO_LIST),
    (&["0.3"], "G", &["get_none"], "over this wire, none is all of it"),
    (&["0.3"], "G", &["no_extended_card"], "over this wire, the call is for the public card, too"),
    (&[""], "J", &["wrong_version"], "a gateway speaks all versions"),
];
