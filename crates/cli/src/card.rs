//! `latimer card`.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;

use latimer_protocol::card::{
    AgentCard, CardFormat, InvalidKey, JwsAlgorithm, KeySet, SigningKey, VerifyPolicy,
};
use latimer_server::generate_key;
use serde_json::Value;

use crate::args::{Algorithm, CardKeygen, CardSign, CardVerify};
use crate::error::CliError;
use crate::output;

/// Generates a signing key.
pub(crate) fn keygen(args: &CardKeygen) -> Result<(), CliError> {
    let algorithm = match args.algorithm {
        Algorithm::Es256 => JwsAlgorithm::Es256,
        Algorithm::Eddsa => JwsAlgorithm::EdDsa,
        Algorithm::Rs256 => JwsAlgorithm::Rs256,
    };
    let pem = generate_key(algorithm).map_err(|error| CliError::new(error.to_string()))?;
    let public = public_key(pem.reveal()).map_err(|error| CliError::new(error.to_string()))?;
    match &args.out {
        Some(path) => {
            write_private(path, pem.reveal()).map_err(|error| write_error(path, &error))?;
            output::print(&public.to_string())?;
        }
        None => {
            output::print(pem.reveal().trim_end())?;
            output::print_error(&public.to_string());
        }
    }
    Ok(())
}

/// Signs an agent card.
pub(crate) fn sign(args: &CardSign) -> Result<(), CliError> {
    let mut key = read_key(&args.key, SigningKey::read)?;
    if let Some(jku) = &args.jku {
        key = key.with_jku(jku);
    }
    let mut card = read_card(&args.card)?;
    if let Value::Object(members) = &mut card {
        members.remove("signatures");
    }
    let invalid = |error: String| CliError::usage(format!("{}: {error}", args.card.display()));
    let mut card = AgentCard::from_json(&card).map_err(|error| invalid(error.to_string()))?;
    card.sign(&key).map_err(|error| invalid(error.to_string()))?;
    output::print(&format!("{:#}", card.to_json(CardFormat::V1_0)))?;
    Ok(())
}

/// Verifies the signatures of an agent card.
pub(crate) fn verify(args: &CardVerify) -> Result<(), CliError> {
    let keys = read_key(&args.key, KeySet::read)?;
    let card = read_card(&args.card)?;
    let verified = latimer_protocol::card::verify(&card, &keys, &VerifyPolicy::default())
        .map_err(|error| CliError::new(error.to_string()))?;
    let signature = format!("Signature: {} kid={}", verified.algorithm, verified.kid);
    output::print(&format!("Card: {}\n{signature}\nResult: verified", verified.card.name))?;
    Ok(())
}

fn public_key(pem: &str) -> Result<Value, InvalidKey> {
    SigningKey::read(pem)?.verifying_key()?.to_jwk()
}

fn read_key<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, InvalidKey>,
) -> Result<T, CliError> {
    let text = read(path)?;
    parse(&text).map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
}

fn read_card(path: &Path) -> Result<Value, CliError> {
    let text = read(path)?;
    let invalid = |error| CliError::usage(format!("{}: invalid JSON: {error}", path.display()));
    serde_json::from_str(&text).map_err(invalid)
}

/// Reads a file, or standard input for `-`.
fn read(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().lock().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(path).map(|it| text = it),
    };
    read.map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(text)
}

/// Writes a new file that only its owner can read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}

fn write_error(path: &Path, error: &io::Error) -> CliError {
    let cli_error = CliError::new(format!("cannot write {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            cli_error.with_hint("choose another file with --out, or remove this one")
        }
        _ => cli_error,
    }
}
