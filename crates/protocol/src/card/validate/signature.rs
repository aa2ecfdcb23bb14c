//! Checks of the syntax of signatures. [`verify`](crate::card::verify) checks their validity.

use super::node::Node;
use super::{Report, rules};
use crate::card::JwsAlgorithm;
use crate::card::jws::from_base64url;

pub(super) fn check(card: &Node<'_>, report: &mut Report) {
    for signature in report.objects(card, "signatures") {
        check_signature(&signature, report);
    }
}

fn check_signature(signature: &Node<'_>, report: &mut Report) {
    let rule = &rules::SIGNATURE_VALUE;
    let value =
        report.required_text(signature, "signature", rule, "it contains the signature value");
    if value.is_some_and(|it| from_base64url(it).is_none()) {
        let message = "must be base64url without padding";
        report.add_member(rule, signature, "signature", message);
    }
    let rule = &rules::SIGNATURE_PROTECTED;
    let advice = "it specifies the algorithm and the key";
    let Some(protected) = report.required_text(signature, "protected", rule, advice) else {
        return;
    };
    let header = from_base64url(protected)
        .and_then(|it| serde_json::from_slice::<serde_json::Value>(&it).ok())
        .filter(serde_json::Value::is_object);
    let Some(header) = header else {
        let message = "must be a base64url-encoded JSON object";
        return report.add_member(rule, signature, "protected", message);
    };
    let text = |name: &str| header.get(name).and_then(serde_json::Value::as_str);
    let mut add = |rule, message| report.add_member(rule, signature, "protected", message);
    match text("alg") {
        None => add(
            &rules::SIGNATURE_ALG_MISSING,
            "the header has no alg; use ES256, EdDSA or RS256".to_owned(),
        ),
        Some(alg) if alg.eq_ignore_ascii_case("none") || alg.starts_with("HS") => add(
            &rules::SIGNATURE_ALG_REFUSED,
            format!("alg {alg:?} does not prove who signed; use ES256, EdDSA or RS256"),
        ),
        Some(alg) if alg.parse::<JwsAlgorithm>().is_err() => add(
            &rules::SIGNATURE_ALG_UNKNOWN,
            format!("alg {alg:?} is not widely supported; use ES256, EdDSA or RS256"),
        ),
        Some(_) => {}
    }
    if text("kid").is_none_or(str::is_empty) {
        add(&rules::SIGNATURE_KID_MISSING, "the header has no kid; set the key id".to_owned());
    }
    if text("typ") != Some("JOSE") {
        add(&rules::SIGNATURE_TYP, "the typ of the header should be \"JOSE\"".to_owned());
    }
}
