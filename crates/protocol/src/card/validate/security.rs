//! Checks of security schemes and requirements.

use super::card::CardGeneration;
use super::node::Node;
use super::{Report, interface, rules};
use crate::card::security::SCHEME_KINDS;

/// OAuth flows: name, required URLs, and whether the flow is recommended.
const FLOWS: [(&str, &[&str], bool); 5] = [
    ("authorizationCode", &["authorizationUrl", "tokenUrl"], true),
    ("clientCredentials", &["tokenUrl"], true),
    ("deviceCode", &["deviceAuthorizationUrl", "tokenUrl"], true),
    ("implicit", &["authorizationUrl"], false),
    ("password", &["tokenUrl"], false),
];

pub(super) fn check(card: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    let schemes = card.get("securitySchemes");
    match &schemes {
        Some(schemes) if !schemes.value().is_object() => {
            report.wrong_type(schemes, "an object");
        }
        Some(schemes) => {
            schemes.entries().for_each(|(_, scheme)| check_scheme(&scheme, generation, report));
        }
        None => {}
    }
    let is_defined = |name: &str| schemes.as_ref().is_some_and(|it| it.value().get(name).is_some());
    check_requirements(card, generation, &is_defined, report);
    for skill in card.get("skills").and_then(|it| it.items()).into_iter().flatten() {
        check_requirements(&skill, generation, &is_defined, report);
    }
}

fn check_scheme(scheme: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    if !scheme.value().is_object() {
        report.wrong_type(scheme, "an object");
        return;
    }
    let kinds: Vec<_> = SCHEME_KINDS.iter().filter(|kind| scheme.has(kind.member)).collect();
    let declared_type = scheme.get("type");
    let has_v1_0_members = matches!(generation, CardGeneration::V1_0 | CardGeneration::Mixed);
    match (has_v1_0_members, kinds.as_slice(), &declared_type) {
        (true, [kind], _) => {
            if let Some(body) = scheme.get(kind.member) {
                check_kind(&body, kind.name, CardGeneration::V1_0, report);
            }
        }
        (true, [], _) => {
            let message = "has none of the kinds of 1.0, such as httpAuthSecurityScheme; \
                           nest its members under one of them";
            report.add(&rules::SCHEME_NONE, scheme, message);
        }
        (true, _, _) => {
            let message = "has more than one kind; define a separate scheme for each";
            report.add(&rules::SCHEME_SEVERAL, scheme, message);
        }
        (false, _, None) => {
            let message = "has no type; use apiKey, http, oauth2, openIdConnect or mutualTLS";
            report.add_member(&rules::SCHEME_NONE, scheme, "type", message);
        }
        (false, _, Some(declared_type)) => {
            let kind =
                SCHEME_KINDS.iter().find(|kind| declared_type.value().as_str() == Some(kind.name));
            match kind {
                Some(kind) => check_kind(scheme, kind.name, generation, report),
                None => {
                    let message = "must be apiKey, http, oauth2, openIdConnect or mutualTLS";
                    report.add(&rules::SCHEME_UNKNOWN, declared_type, message);
                }
            }
        }
    }
}

fn check_kind(body: &Node<'_>, kind: &str, generation: CardGeneration, report: &mut Report) {
    let rule = &rules::SCHEME_MEMBER_MISSING;
    match kind {
        "apiKey" => {
            let name = if generation == CardGeneration::V1_0 { "location" } else { "in" };
            let advice = "use header, query or cookie";
            let location = report.required_text(body, name, rule, advice);
            if location.is_some_and(|it| !matches!(it, "header" | "query" | "cookie")) {
                let message = "must be header, query or cookie";
                report.add_member(&rules::SCHEME_LOCATION, body, name, message);
            }
            report.required_text(
                body,
                "name",
                rule,
                "set the name of the header, parameter or cookie",
            );
        }
        "http" => {
            report.required_text(
                body,
                "scheme",
                rule,
                "set the HTTP authentication scheme, such as \"Bearer\"",
            );
        }
        "oauth2" => check_flows(body, generation, report),
        "openIdConnect" => check_url(body, "openIdConnectUrl", report),
        _ => {}
    }
}

fn check_flows(body: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    let Some(flows) = body.get("flows") else {
        let message = "flows is required; define the flow that issues tokens";
        return report.add_member(&rules::SCHEME_MEMBER_MISSING, body, "flows", message);
    };
    let declared_flows: Vec<_> =
        FLOWS.iter().filter_map(|flow| Some((flow, flows.get(flow.0)?))).collect();
    if declared_flows.is_empty() {
        let message = "has no known flow; define one, such as clientCredentials";
        report.add(&rules::FLOWS_NONE, &flows, message);
    }
    if declared_flows.len() > 1 && generation == CardGeneration::V1_0 {
        let message = "has more than one flow; define a separate scheme for each";
        report.add(&rules::FLOWS_SEVERAL, &flows, message);
    }
    for ((name, urls, recommended), flow) in declared_flows {
        urls.iter().for_each(|url| check_url(&flow, url, report));
        if !recommended {
            let message = format!("the {name} flow is deprecated; use authorizationCode with PKCE");
            report.add(&rules::FLOW_DEPRECATED, &flow, message);
        }
    }
}

fn check_url(node: &Node<'_>, name: &str, report: &mut Report) {
    let rule = &rules::SCHEME_MEMBER_MISSING;
    let Some(url) = report.required_text(node, name, rule, "set the URL") else { return };
    if !interface::is_web_url(url) {
        let message = format!("{url:?} must be an absolute https URL");
        report.add_member(&rules::SCHEME_URL_INVALID, node, name, message);
    }
}

/// Checks the requirements of the card or of a skill.
fn check_requirements(
    node: &Node<'_>,
    generation: CardGeneration,
    is_defined: &dyn Fn(&str) -> bool,
    report: &mut Report,
) {
    if generation == CardGeneration::V1_0 && node.has("security") {
        let message = "is the member name of 0.3; use securityRequirements in 1.0";
        report.add_member(&rules::REQUIREMENT_KEY, node, "security", message);
    }
    for requirement in report.objects(node, "securityRequirements") {
        check_requirement(&requirement, RequirementShape::Nested, is_defined, report);
    }
    for requirement in report.objects(node, "security") {
        let nested = requirement.get("schemes").is_some_and(|it| it.value().is_object());
        let shape = if nested { RequirementShape::Nested } else { RequirementShape::Flat };
        check_requirement(&requirement, shape, is_defined, report);
    }
}

/// JSON shape of a requirement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequirementShape {
    /// Shape of 1.0: `{"schemes": {"g": {"list": […]}}}`.
    Nested,
    /// Shape of 0.3: `{"g": […]}`.
    Flat,
}

fn check_requirement(
    requirement: &Node<'_>,
    shape: RequirementShape,
    is_defined: &dyn Fn(&str) -> bool,
    report: &mut Report,
) {
    let schemes = match shape {
        RequirementShape::Nested => requirement.get("schemes"),
        RequirementShape::Flat => Some(requirement.clone()),
    };
    let Some(schemes) = schemes.filter(|it| it.value().is_object()) else {
        // An empty requirement means that no authentication is needed.
        if requirement.entries().next().is_some() {
            let message = "must be {\"schemes\": {\"<name>\": {\"list\": [<scopes>]}}}";
            report.add(&rules::REQUIREMENT_SHAPE, requirement, message);
        }
        return;
    };
    for (name, scopes) in schemes.entries() {
        let (fits, wanted) = match shape {
            RequirementShape::Nested => (scopes.value().is_object(), "{\"list\": [<scopes>]}"),
            RequirementShape::Flat => (scopes.value().is_array(), "[<scopes>]"),
        };
        if !fits {
            report.add(&rules::REQUIREMENT_SHAPE, &scopes, format!("must be {wanted}"));
        }
        if !is_defined(name) {
            let message = format!("{name:?} is not defined in securitySchemes");
            report.add(&rules::REQUIREMENT_UNDEFINED, &scopes, message);
        }
    }
}
