//! Arguments of `latimer card`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Generate a key that signs agent cards
    #[command(after_help = "\
Examples:
  latimer card keygen --out signing.pem > signing.jwk
  latimer card keygen --algorithm eddsa --out signing.pem

Prints the public key as a JWK. Without --out, prints the private key instead,
and the public key to standard error. An existing file is not overwritten.")]
    Keygen(CardKeygen),

    /// Sign an agent card
    #[command(after_help = "\
Examples:
  latimer card sign --key signing.pem card.json > signed.json
  curl -s https://agent.example/card | latimer card sign --key signing.pem -

Prints the card as A2A 1.0 JSON. The new signature replaces existing ones.")]
    Sign(CardSign),

    /// Verify the signatures of an agent card
    #[command(after_help = "\
Examples:
  latimer card verify --key signing.jwk signed.json
  latimer card verify --key jwks.json - < signed.json

Exits with code 1 if no signature is valid.")]
    Verify(CardVerify),
}

#[derive(Debug, Args)]
pub(crate) struct CardKeygen {
    /// Use this signature algorithm
    #[arg(long, value_name = "ALGORITHM", default_value = "es256")]
    pub(crate) algorithm: Algorithm,

    /// Write the private key to this file, readable by its owner only
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CardSign {
    /// Sign with this private key, as PEM or JWK
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Refer verifiers to the public keys at this URL, as JWKS
    #[arg(long, value_name = "URL")]
    pub(crate) jku: Option<String>,

    /// Agent card in JSON; - reads standard input
    #[arg(value_name = "CARD")]
    pub(crate) card: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CardVerify {
    /// Trust the public keys in this file: JWK, JWKS or PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Agent card in JSON; - reads standard input
    #[arg(value_name = "CARD")]
    pub(crate) card: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// ECDSA with P-256, which most verifiers support
    Es256,
    /// Ed25519
    Eddsa,
    /// RSA, for verifiers that support nothing else
    Rs256,
}
