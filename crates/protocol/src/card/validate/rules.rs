//! All validation rules and their stable identifiers.

use super::CardRule;
use super::Severity::{Error, Warning};

/// Defines one constant per rule, and the list of all rules.
macro_rules! rules {
    ($($name:ident $severity:ident $id:literal $explanation:literal)+) => {
        $(pub(super) const $name: CardRule =
            CardRule { id: $id, severity: $severity, explanation: $explanation };)+

        /// All rules that [`validate`](super::validate) checks.
        pub const RULES: &[CardRule] = &[$($name),+];
    };
}

rules! {
    SHAPE Error "card.shape" "the card is not a JSON object"
    TYPE Error "card.type" "a member has the wrong JSON type"
    NAME_MISSING Error "card.name.missing" "the agent has no name"
    DESCRIPTION_MISSING Error "card.description.missing" "the agent has no description"
    VERSION_MISSING Error "card.version.missing" "the agent has no version of its own"
    CAPABILITIES_MISSING Error "card.capabilities.missing" "the capabilities are missing"
    MODES_MISSING Error "card.modes.missing" "the default input or output modes are missing"
    MODES_EMPTY Error "card.modes.empty" "the default input or output modes are empty"
    MODE_FORM Warning "card.mode.form" "a mode is not a media type"
    MEMBER_UNKNOWN Warning "card.member.unknown" "the member does not exist in any protocol version"
    NUMBER_UNSAFE Warning "card.number.unsafe" "an integer exceeds the exact range of JSON numbers"
    LINK_INVALID Warning "card.link.invalid" "a link is not an absolute http or https URL"
    PROVIDER_INCOMPLETE Error "card.provider.incomplete" "the provider lacks a name or a URL"
    URL_MISSING Error "card.url.missing" "a card before 1.0 has no URL"
    URL_UNLISTED Warning "card.url.unlisted" "the URL for older clients is not among the interfaces"
    INTERFACES_MISSING Error "card.interfaces.missing" "the interfaces are missing"
    INTERFACES_EMPTY Error "card.interfaces.empty" "the list of interfaces is empty"
    INTERFACE_URL_MISSING Error "card.interface.url.missing" "an interface has no URL"
    INTERFACE_URL_INVALID Error "card.interface.url.invalid" "a URL is relative or malformed"
    INTERFACE_URL_INSECURE Warning "card.interface.url.insecure" "a URL uses plain HTTP"
    INTERFACE_DUPLICATE Warning "card.interface.duplicate" "an interface is listed twice"
    BINDING_MISSING Error "card.interface.binding.missing" "an interface has no binding"
    BINDING_UNKNOWN Warning "card.interface.binding.unknown" "a binding is neither known nor a URI"
    BINDING_SPELLING Warning "card.interface.binding.spelling"
        "a binding does not use the spelling of the specification"
    PROTOCOL_MISSING Error "card.interface.version.missing" "an interface has no protocol version"
    PROTOCOL_UNKNOWN Warning "card.interface.version.unknown" "a version is not a known A2A version"
    PROTOCOL_PATCH Warning "card.interface.version.patch" "a version has a patch number"
    SKILLS_MISSING Error "card.skills.missing" "the skills are missing"
    SKILLS_EMPTY Warning "card.skills.empty" "the agent has no skills"
    SKILL_MEMBER_MISSING Error "card.skill.member.missing" "a skill lacks a required member"
    SKILL_TAGS_EMPTY Warning "card.skill.tags.empty" "a skill has no tags"
    SKILL_DUPLICATE Error "card.skill.duplicate" "two skills have the same id"
    EXTENSION_URI_MISSING Error "card.extension.uri.missing" "an extension has no URI"
    EXTENSION_URI_INVALID Warning "card.extension.uri.invalid" "an extension's URI is not absolute"
    EXTENSION_DUPLICATE Warning "card.extension.duplicate" "an extension is listed twice"
    SCHEME_NONE Error "card.scheme.none" "a security scheme has no kind"
    SCHEME_SEVERAL Error "card.scheme.several" "a security scheme has several kinds"
    SCHEME_UNKNOWN Error "card.scheme.unknown" "a security scheme has an unknown kind"
    SCHEME_MEMBER_MISSING Error "card.scheme.member.missing" "a scheme lacks a required member"
    SCHEME_LOCATION Error "card.scheme.location" "the location of an API key is not header, query or cookie"
    SCHEME_URL_INVALID Error "card.scheme.url.invalid" "the URL of a scheme is not absolute"
    FLOWS_NONE Error "card.scheme.flows.none" "an OAuth scheme has no flow"
    FLOWS_SEVERAL Error "card.scheme.flows.several" "an OAuth scheme has several flows"
    FLOW_DEPRECATED Warning "card.scheme.flow.deprecated" "an OAuth flow is deprecated"
    REQUIREMENT_SHAPE Error "card.requirement.shape" "a security requirement has the wrong shape"
    REQUIREMENT_KEY Warning "card.requirement.key" "requirements use the member name of 0.3"
    REQUIREMENT_UNDEFINED Error "card.requirement.undefined" "a required scheme is not defined"
    SIGNATURE_PROTECTED Error "card.signature.protected" "a protected header is not base64url-encoded JSON"
    SIGNATURE_VALUE Error "card.signature.value" "a signature is not base64url"
    SIGNATURE_ALG_MISSING Error "card.signature.alg.missing" "a protected header has no algorithm"
    SIGNATURE_ALG_REFUSED Error "card.signature.alg.refused" "an algorithm is insecure"
    SIGNATURE_ALG_UNKNOWN Warning "card.signature.alg.unknown" "an algorithm is not supported for verification"
    SIGNATURE_KID_MISSING Error "card.signature.kid.missing" "a protected header has no key id"
    SIGNATURE_TYP Warning "card.signature.typ" "the type of a protected header is not JOSE"
}
