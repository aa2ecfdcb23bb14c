//! What is wrong, and what is only what was to be expected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::world::{Weather, World};

/// How long anybody waits for an answer, or for the next event.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Why an errand ends early.
#[derive(Debug)]
pub enum Trouble {
    /// The server went away, as it was told to.
    CutShort,
    /// Something that should not be.
    Fault(String),
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self::Fault(what)
    }
}

/// What came of an errand, or of a part of it.
pub type Run<T = ()> = Result<T, Trouble>;

/// When something began, so that its end can be judged.
#[derive(Clone, Debug)]
pub(super) struct Since {
    world: Arc<World>,
    life: u32,
}

impl Since {
    /// Before anything began.
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: world.clone(), life: 0 }
    }

    /// Waits until the server can be called; true when that is another one than before.
    pub(super) async fn until_up(&mut self) -> bool {
        let before = std::mem::replace(&mut self.life, self.world.until_up().await);
        before != self.life
    }

    /// What is wrong, unless the server went away meanwhile.
    pub(super) fn judge(&self, what: String) -> Trouble {
        match self.world.weather() == (Weather { life: self.life, up: true }) {
            true => Trouble::Fault(what),
            false => Trouble::CutShort,
        }
    }

    /// Waits for something, but not for ever.
    pub(super) async fn wait<T>(&self, what: impl Future<Output = std::io::Result<T>>) -> Run<T> {
        let begin = Instant::now();
        match timeout(PATIENCE, what).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let time = begin.elapsed();
                Err(self.judge(format!("the connection broke after {time:?}: {error}")))
            }
            Err(_) => Err(self.judge(format!("nothing for {PATIENCE:?}"))),
        }
    }
}
