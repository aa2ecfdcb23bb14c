//! What servers cannot do, and why.

use crate::interop::sdk::Cannot;

const JS: &[&str] = &["JS "];
const JS_0_3: &[&str] = &["JS 0.3"];
const JS_AS_0_3: &[&str] = &["JS 1.3.0 as 0.3"];
const JS_OF_0_3: &[&str] = &["JS 1.3.0 as 0.3", "JS 0.3"];
const PYTHON_0_3: &[&str] = &["Python 0.3"];
const PYTHON_AS_0_3: &[&str] = &["Python 1.3.0 as 0.3"];
const PYTHON_OF_0_3: &[&str] = &["Python 1.3.0 as 0.3", "Python 0.3"];
const ALL_OF_0_3: &[&str] = &["Python 1.3.0 as 0.3", "Python 0.3", "JS 1.3.0 as 0.3", "JS 0.3"];

const NO_SIGNATURE: &str = "the SDK does not sign";
const NOT_ALL_SIGNED: &str = "the SDK leaves security schemes out of what it signs";
const KNOWS_NOBODY: &str = "the server has it for callers that it knows, and knows none";
const PUBLIC_CARD: &str = "the server has the public card there";
pub(in crate::interop) const NAMES: &str = "the server drops names of files";
const NO_LIST: &str = "0.3 has no list of tasks";
const NO_HISTORY: &str = "the server shows no history unless it is told how much";
const ALL_HISTORY: &str = "to the server, none is all of it";
const TWICE: &str = "a second reader makes the server keep each piece twice";
const NOT_TOLD: &str = "a subscriber is not told of it";
const OTHER_BODY: &str = "the server reads another body than all others";
const NO_CALL: &str = "the server does not have the call over this binding";
const DROPS: &str = "the server drops the connection in place of an error";
const INTERNAL: &str = "the server calls it an internal error";
const OTHER_CODE: &str = "the server has the code of another error for it";
const STOPS: &str = "the server stops without a word, and is given up after two minutes";
const DONE_ANYWAY: &str = "the server does it all the same";

pub(super) const CANNOT: &[Cannot] = &[
    (JS_0_3, "JHG", &["signature"], NO_SIGNATURE),
    (JS, "JHG", &["signature"], NOT_ALL_SIGNED),
    (JS, "JHG", &["extended_card"], KNOWS_NOBODY),
    (PYTHON_0_3, "G", &["extended_card", "no_extended_card"], PUBLIC_CARD),
    (JS_OF_0_3, "HG", &["file_name"], NAMES),
    (ALL_OF_0_3, "JHG", &["list", "pages"], NO_LIST),
    (PYTHON_OF_0_3, "JHG", &["page_token"], NO_LIST),
    (JS_0_3, "JHG", &["page_token"], NO_LIST),
    (JS_AS_0_3, "JG", &["page_token"], NO_LIST),
    (JS_0_3, "JH", &["get"], NO_HISTORY),
    (JS_AS_0_3, "G", &["get"], NO_HISTORY),
    (PYTHON_OF_0_3, "JHG", &["get_none"], ALL_HISTORY),
    (JS_0_3, "JHG", &["get_none"], ALL_HISTORY),
    (PYTHON_0_3, "JHG", &["cut_once", "follow"], TWICE),
    (PYTHON_0_3, "JHG", &["subscribe_canceled"], NOT_TOLD),
    (JS_AS_0_3, "H", &["push_create", "push_get", "push_list", "push_delete"], OTHER_BODY),
    (JS_AS_0_3, "H", &["no_push_create"], OTHER_BODY),
    (PYTHON_0_3, "HG", &["push_list", "push_delete"], NO_CALL),
    (PYTHON_AS_0_3, "H", &["push_delete"], NO_CALL),
    (PYTHON_OF_0_3, "H", &["unknown_subscribe", "unknown_stream", "finished_subscribe"], DROPS),
    (PYTHON_AS_0_3, "H", &["no_streaming"], DROPS),
    (JS_0_3, "H", &["unknown_subscribe", "unknown_stream"], INTERNAL),
    (PYTHON_0_3, "JHG", &["no_streaming"], INTERNAL),
    (PYTHON_0_3, "J", &["no_extended_card", "no_push_create"], INTERNAL),
    (PYTHON_0_3, "G", &["no_push_create"], INTERNAL),
    (PYTHON_0_3, "J", &["no_push_get"], OTHER_CODE),
    (JS_0_3, "G", &["finished_cancel"], OTHER_CODE),
    (JS, "JHG", &["no_parts"], DONE_ANYWAY),
    (PYTHON_0_3, "JHG", &["no_parts", "content_type"], DONE_ANYWAY),
    (JS_0_3, "JHG", &["content_type", "other_context", "finished_subscribe"], DONE_ANYWAY),
    (JS_0_3, "G", &["no_streaming"], DONE_ANYWAY),
];

/// The same through gateways, over the bindings behind these.
pub(super) const CANNOT_THROUGH: &[Cannot] = &[
    (&[""], "JHG", &["signature"], "a gateway signs with its own key, and has none here"),
    (&[""], "JHG", &["extended_card"], "a gateway publishes the public card only"),
    (&[""], "JHG", &["no_streaming"], "a gateway streams what its agent does not"),
    (
        &[""],
        "JHG",
        &["no_push_create", "no_push_get"],
        "a gateway has webhooks although its agent has none",
    ),
    (JS_0_3, "HG", &["file_name"], NAMES),
    (PYTHON_0_3, "JHG", &["cut_once"], TWICE),
    (PYTHON_0_3, "H", &["agent_refuses", "agent_crashes"], STOPS),
    (PYTHON_0_3, "J", &["agent_crashes"], STOPS),
];

/// What callers of gateways cannot do, by the version they speak.
pub(super) const CANNOT_ASK: &[Cannot] = &[
    (&["0.3"], "J", &["list", "pages", "page_token"], NO_LIST),
    (&["0.3"], "G", &["get_none"], "over this wire, none is all of it"),
    (&["0.3"], "G", &["no_extended_card"], "over this wire, the call is for the public card, too"),
    (&[""], "J", &["wrong_version"], "a gateway speaks all versions"),
];
