//! Sharded maps of the store and the server.
//!
//! Public only because `latimer-server` uses it, too; not part of the stable API of this crate. Not a
//! separate crate, because everything that uses these maps depends on the store already.

mod sharded;

pub use self::sharded::{EntryGuard, Sharded, ShardedMap};
