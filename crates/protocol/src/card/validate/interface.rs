//! Checks of interfaces: URLs, bindings and versions.

use std::collections::HashSet;
use std::net::IpAddr;

use http::Uri;

use super::card::CardGeneration;
use super::node::Node;
use super::{Report, rules};
use crate::card::ProtocolBinding;
use crate::version::Version;

pub(super) fn check(card: &Node<'_>, generation: CardGeneration, report: &mut Report) {
    match generation {
        CardGeneration::V1_0 => check_interfaces(card, report),
        CardGeneration::V0_3 | CardGeneration::V0_1 => check_pre_v1(card, report),
        CardGeneration::Mixed => {
            check_interfaces(card, report);
            check_pre_v1(card, report);
            check_url_is_listed(card, report);
        }
    }
}

fn check_interfaces(card: &Node<'_>, report: &mut Report) {
    let Some(interfaces) = card.get("supportedInterfaces") else {
        let message =
            "supportedInterfaces is required; list the URL, binding and version of each interface";
        return report.add_member(&rules::INTERFACES_MISSING, card, "supportedInterfaces", message);
    };
    if interfaces.items().is_some_and(|it| it.is_empty()) {
        let message = "must not be empty; list the URL, binding and version of each interface";
        report.add(&rules::INTERFACES_EMPTY, &interfaces, message);
    }
    let mut seen = HashSet::new();
    for interface in report.objects(card, "supportedInterfaces") {
        let advice = "set the transport: JSONRPC, HTTP+JSON or GRPC";
        let rule = &rules::BINDING_MISSING;
        let binding = report.required_text(&interface, "protocolBinding", rule, advice);
        check_binding(&interface, "protocolBinding", report);
        let rule = &rules::INTERFACE_URL_MISSING;
        report.required_text(&interface, "url", rule, "set the URL of the interface");
        check_url(&interface, "url", binding.unwrap_or_default(), report);
        check_version(&interface, report);
        let members = ["url", "protocolBinding", "protocolVersion", "tenant"];
        if !seen.insert(members.map(|name| interface.get(name).map(|it| it.value()))) {
            let message = "duplicates an earlier interface; remove one of them";
            report.add(&rules::INTERFACE_DUPLICATE, &interface, message);
        }
    }
}

fn check_version(interface: &Node<'_>, report: &mut Report) {
    let name = "protocolVersion";
    let advice = "set the A2A version, such as \"1.0\"";
    let rule = &rules::PROTOCOL_MISSING;
    let Some(version) = report.required_text(interface, name, rule, advice) else { return };
    if version.parse::<Version>().is_err() {
        let message = format!("{version:?} is not a known A2A version");
        report.add_member(&rules::PROTOCOL_UNKNOWN, interface, name, message);
    } else if version.split('.').count() > 2 {
        let message = format!("{version:?} has a patch number, which some clients do not accept");
        report.add_member(&rules::PROTOCOL_PATCH, interface, name, message);
    }
}

fn check_binding(node: &Node<'_>, name: &str, report: &mut Report) {
    let Some(text) = node.get(name).and_then(|it| it.value().as_str()).filter(|it| !it.is_empty())
    else {
        return;
    };
    let binding = ProtocolBinding::from(text);
    match binding {
        ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson | ProtocolBinding::Grpc => {
            if binding.as_str() != text {
                let message = format!("write {:?} instead of {text:?}", binding.as_str());
                report.add_member(&rules::BINDING_SPELLING, node, name, message);
            }
        }
        ProtocolBinding::Other(_) => {
            if !is_uri(text) {
                let message =
                    format!("{text:?} is not a known binding; identify a custom binding by a URI");
                report.add_member(&rules::BINDING_UNKNOWN, node, name, message);
            }
        }
    }
}

/// Checks the main URL and the additional interfaces of a card before 1.0.
fn check_pre_v1(card: &Node<'_>, report: &mut Report) {
    let binding =
        report.optional_text(card, "preferredTransport").ok().flatten().unwrap_or("JSONRPC");
    check_binding(card, "preferredTransport", report);
    let rule = &rules::URL_MISSING;
    report.required_text(card, "url", rule, "set the URL of the agent");
    check_url(card, "url", binding, report);
    if let Ok(Some(version)) = report.optional_text(card, "protocolVersion")
        && version.parse::<Version>().is_err()
    {
        let message = format!("{version:?} is not a known A2A version");
        report.add_member(&rules::PROTOCOL_UNKNOWN, card, "protocolVersion", message);
    }
    for interface in report.objects(card, "additionalInterfaces") {
        let advice = "set the transport: JSONRPC, HTTP+JSON or GRPC";
        let rule = &rules::BINDING_MISSING;
        let binding = report.required_text(&interface, "transport", rule, advice);
        check_binding(&interface, "transport", report);
        let rule = &rules::INTERFACE_URL_MISSING;
        report.required_text(&interface, "url", rule, "set the URL of the interface");
        check_url(&interface, "url", binding.unwrap_or_default(), report);
    }
}

/// Checks that `url` is also an interface, so that clients of all versions call the same agent.
fn check_url_is_listed(card: &Node<'_>, report: &mut Report) {
    let Some(url) = card.get("url").and_then(|it| it.value().as_str()) else { return };
    let interfaces = card.get("supportedInterfaces").and_then(|it| it.items());
    let listed = interfaces
        .into_iter()
        .flatten()
        .any(|it| it.get("url").is_some_and(|it| it.value().as_str() == Some(url)));
    if !listed {
        let message = format!(
            "{url:?}, which older clients use, is missing from supportedInterfaces; add it"
        );
        report.add_member(&rules::URL_UNLISTED, card, "url", message);
    }
}

fn check_url(node: &Node<'_>, name: &str, binding: &str, report: &mut Report) {
    let Some(url) = node.get(name).and_then(|it| it.value().as_str()).filter(|it| !it.is_empty())
    else {
        return;
    };
    let binding = ProtocolBinding::from(binding);
    let fits = match binding {
        ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson => is_web_url(url),
        ProtocolBinding::Grpc => is_web_url(url) || is_grpc_target(url),
        ProtocolBinding::Other(_) => is_uri(url),
    };
    if !fits {
        let wanted = match binding {
            ProtocolBinding::Grpc => "host:port, or an absolute https URL",
            ProtocolBinding::JsonRpc | ProtocolBinding::HttpJson | ProtocolBinding::Other(_) => {
                "an absolute URL, such as https://agent.example.com/a2a"
            }
        };
        let message = format!("{url:?} must be {wanted}");
        return report.add_member(&rules::INTERFACE_URL_INVALID, node, name, message);
    }
    if url.starts_with("http://") && !is_loopback(url) {
        let message = format!("{url:?} uses plain HTTP; use https");
        report.add_member(&rules::INTERFACE_URL_INSECURE, node, name, message);
    }
}

/// Returns whether `text` is an absolute http or https URL.
pub(super) fn is_web_url(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|it| !it.is_empty())
}

/// Returns whether `text` is `host:port`, optionally prefixed by `grpc://`, `grpcs://` or gRPC's
/// `dns:///`.
fn is_grpc_target(text: &str) -> bool {
    let schemes = ["grpc://", "grpcs://", "dns:///", "dns:"];
    let target = schemes.iter().find_map(|it| text.strip_prefix(it)).unwrap_or(text);
    let Ok(authority) = target.parse::<http::uri::Authority>() else { return false };
    !authority.host().is_empty() && authority.port_u16().is_some()
}

/// Returns whether `text` is a URI with a scheme.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, remainder)) = text.split_once(':') else { return false };
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let starts_with_letter = scheme.starts_with(|it: char| it.is_ascii_alphabetic());
    starts_with_letter
        && scheme.bytes().all(is_scheme_byte)
        && !remainder.is_empty()
        && !text.contains(char::is_whitespace)
}

/// Returns whether the host of a URL means the local machine. Decides as
/// `latimer_outbound::is_loopback_host` does, on which this crate cannot depend.
fn is_loopback(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    let unbracketed = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    match unbracketed.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.rsplit('.').next().is_some_and(|it| it.eq_ignore_ascii_case("localhost")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognized_in_every_spelling() {
        for (url, want) in [
            ("http://localhost:8080/a2a", true),
            ("http://LocalHost/", true),
            ("http://localhost./", true),
            ("http://localhost../", false),
            ("http://agent.localhost/", true),
            ("http://127.0.0.2/", true),
            ("http://127.0.0.1./", true),
            ("http://[::1]:8080/", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://[::ffff:192.0.2.1]/", false),
            ("http://192.0.2.1/", false),
            ("http://localhost.example.com/", false),
            ("http://notlocalhost/", false),
        ] {
            assert_eq!(is_loopback(url), want, "{url}");
        }
    }
}
