//! Operations that servers do not support, with reasons.

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

const NO_SIGNATURE: &str = "the SDK does not sign cards";
const SIGNATURE_OMITS_SCHEMES: &str = "the SDK does not sign security schemes";
const NO_AUTHENTICATION: &str = "the server requires authentication for it, and has none here";
const SERVES_PUBLIC_CARD: &str = "the server returns the public card";
pub(in crate::interop) const DROPS_FILE_NAMES: &str = "the server drops file names";
const NO_LIST: &str = "0.3 has no task list";
const HISTORY_NEEDS_LENGTH: &str = "the server returns no history without a history length";
const ZERO_MEANS_ALL_HISTORY: &str = "the server treats a history length of zero as unlimited";
const DUPLICATES_CHUNKS: &str = "with a second reader, the server stores each chunk twice";
const SUBSCRIBER_NOT_NOTIFIED: &str = "the server does not notify subscribers";
const DIFFERENT_BODY: &str = "the server expects a different request body";
const MISSING_OPERATION: &str = "the server does not have the operation over this binding";
const DROPS_CONNECTION: &str = "the server drops the connection instead of returning an error";
const INTERNAL_ERROR: &str = "the server returns an internal error";
const WRONG_ERROR_CODE: &str = "the server returns the code of another error";
const HANGS: &str = "the server stops responding, and the check fails after two minutes";
const NOT_REJECTED: &str = "the server does not reject it";

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

/// Operations that are not supported through gateways, by upstream server and upstream binding.
pub(super) const UNSUPPORTED_VIA_GATEWAY: &[UnsupportedRule] = &[
    (&[""], "JHG", &["signature"], "a gateway signs with its own key, and has none in this test"),
    (&[""], "JHG", &["extended_card"], "a gateway publishes only the public card"),
    (&[""], "JHG", &["no_streaming"], "a gateway streams even if its agent does not"),
    (
        &[""],
        "JHG",
        &["no_push_create", "no_push_get"],
        "a gateway delivers webhooks even if its agent does not",
    ),
    (JS_0_3, "HG", &["file_name"], DROPS_FILE_NAMES),
    (PYTHON_0_3, "JHG", &["cut_stream_repeats_nothing"], DUPLICATES_CHUNKS),
    (PYTHON_0_3, "H", &["agent_refuses", "agent_crashes"], HANGS),
    (PYTHON_0_3, "J", &["agent_crashes"], HANGS),
];

/// Operations that are not supported through gateways, by version and binding of the client.
pub(super) const UNSUPPORTED_FOR_VERSION: &[UnsupportedRule] = &[
    (&["0.3"], "J", &["list", "pages", "page_token"], NO_LIST),
    (&["0.3"], "G", &["get_none"], "over this binding, a history length of zero means unlimited"),
    (
        &["0.3"],
        "G",
        &["no_extended_card"],
        "over this binding, the operation also returns the public card",
    ),
    (&[""], "J", &["wrong_version"], "a gateway supports all versions"),
];
