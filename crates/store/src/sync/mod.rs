//! Sharded maps of the store and the server.
//!
//! The module is public only for `latimer-server` and not part of the stable API of this crate. It is
//! no separate crate, because every crate that uses these maps already depends on the store.

mod sharded;

pub use self::sharded::{EntryGuard, Sharded, ShardedMap};
