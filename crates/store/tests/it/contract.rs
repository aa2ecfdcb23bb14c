//! Runs the conformance suite with every backend.

use std::sync::Arc;

use async_trait::async_trait;
use latimer_store::conformance::{self, StoreFixture};
use latimer_store::{Durability, MemoryStore, Retention, SqliteConfig, TaskStore};
use tempfile::TempDir;

use crate::fixtures::open_with;

/// Fixture of the memory store.
struct MemoryFixture;

#[async_trait]
impl StoreFixture for MemoryFixture {
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
        Arc::new(MemoryStore::new(retention))
    }
}

/// Fixture of the SQLite store in a temporary directory.
struct SqliteFixture {
    directory: TempDir,
    durability: Durability,
}

#[async_trait]
impl StoreFixture for SqliteFixture {
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
        let durability = self.durability;
        let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
        Arc::new(open_with(self.directory.path(), config))
    }

    fn is_durable(&self) -> bool {
        true
    }
}

fn sqlite_fixture(durability: Durability) -> SqliteFixture {
    SqliteFixture { directory: TempDir::new().expect("a temporary directory"), durability }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_store_passes_conformance() {
    conformance::run(|| MemoryFixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_store_with_process_durability_passes_conformance() {
    conformance::run(|| sqlite_fixture(Durability::Process)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_store_with_full_durability_passes_conformance() {
    conformance::run(|| sqlite_fixture(Durability::Full)).await;
}
