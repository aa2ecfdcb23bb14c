//! Every store keeps the contract.

use std::sync::Arc;

use async_trait::async_trait;
use latimer_store::conformance::{self, Home};
use latimer_store::{Durability, Memory, Retention, Sqlite, SqliteConfig, TaskStore};
use tempfile::TempDir;

/// A store in memory is nowhere.
struct Nowhere;

#[async_trait]
impl Home for Nowhere {
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
        Arc::new(Memory::new(retention))
    }
}

/// A store on disk is in a folder.
struct Folder {
    folder: TempDir,
    durability: Durability,
}

#[async_trait]
impl Home for Folder {
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
        let durability = self.durability;
        let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
        Arc::new(Sqlite::open(self.folder.path().join("tasks.db"), config).expect("it opens"))
    }

    fn is_durable(&self) -> bool {
        true
    }
}

fn folder(durability: Durability) -> Folder {
    Folder { folder: TempDir::new().expect("a folder"), durability }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_the_contract() {
    conformance::run(|| Nowhere).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract_for_the_process() {
    conformance::run(|| folder(Durability::Process)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract_in_full() {
    conformance::run(|| folder(Durability::Full)).await;
}
