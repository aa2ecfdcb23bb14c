//! What can be said about cards.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Make a key to sign cards with
    #[command(after_help = "\
Examples:
  latimer card keygen --out signing.pem > signing.jwk
  latimer card keygen --algorithm eddsa --out signing.pem

The public half is printed as a JWK. Without --out the key itself is printed,
and its public half to standard error. A file that exists is left alone.")]
    Keygen(CardKeygen),

    /// Sign a card
    #[command(after_help = "\
Examples:
  latimer card sign --key signing.pem card.json > signed.json
  curl -s https://agent.example/card | latimer card sign --key signing.pem -

The card is printed in the form of A2A 1.0, with this signature in place of
those it had.")]
    Sign(CardSign),

    /// Say whether a signature of a card holds
    #[command(after_help = "\
Examples:
  latimer card verify --key signing.jwk signed.json
  latimer card verify --key jwks.json - < signed.json

Exits with 1 when none does.")]
    Verify(CardVerify),
}

#[derive(Debug, Args)]
pub(crate) struct CardKeygen {
    /// What to sign with
    #[arg(long, value_name = "ALGORITHM", default_value = "es256")]
    pub(crate) algorithm: Algorithm,

    /// Write the key to this file, for its owner alone
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CardSign {
    /// The private key: PEM or a JWK
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Where the public key is published, as a set of JWKs
    #[arg(long, value_name = "URL")]
    pub(crate) jku: Option<String>,

    /// The card, or - for standard input
    #[arg(value_name = "CARD")]
    pub(crate) card: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CardVerify {
    /// Keys that are trusted: a JWK, a set of them, or PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// The card, or - for standard input
    #[arg(value_name = "CARD")]
    pub(crate) card: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// P-256, which everybody understands
    Es256,
    /// Ed25519
    Eddsa,
    /// RSA, for readers that know nothing else
    Rs256,
}
