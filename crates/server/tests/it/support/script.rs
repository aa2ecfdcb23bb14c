//! A service that answers what it was told to, and remembers what it was asked.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use latimer_protocol::{Call, CallResponse, Error, Service};

type Play = Box<dyn Fn(&Call) -> Result<CallResponse, Error> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Script {
    play: Arc<Play>,
    asked: Arc<Mutex<Vec<Call>>>,
}

impl Script {
    pub(crate) fn new(
        play: impl Fn(&Call) -> Result<CallResponse, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { play: Arc::new(Box::new(play)), asked: Arc::default() }
    }

    /// What was asked last.
    pub(crate) fn last(&self) -> Call {
        self.asked.lock().unwrap().last().expect("something was asked").clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Script")
    }
}

#[async_trait]
impl Service for Script {
    async fn call(&self, call: Call) -> Result<CallResponse, Error> {
        let answer = (self.play)(&call);
        self.asked.lock().unwrap().push(call);
        answer
    }
}
