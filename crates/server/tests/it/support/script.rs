//! A service that answers what it was told to, and remembers what it was asked.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use latimer_protocol::{Call, CallResponse, Error, Service};

type Respond = Box<dyn Fn(&Call) -> Result<CallResponse, Error> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct ScriptedService {
    respond: Arc<Respond>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl ScriptedService {
    pub(crate) fn new(
        respond: impl Fn(&Call) -> Result<CallResponse, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { respond: Arc::new(Box::new(respond)), calls: Arc::default() }
    }

    /// What was asked last.
    pub(crate) fn last_call(&self) -> Call {
        self.calls.lock().unwrap().last().expect("something was asked").clone()
    }
}

impl fmt::Debug for ScriptedService {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Script")
    }
}

#[async_trait]
impl Service for ScriptedService {
    async fn call(&self, call: Call) -> Result<CallResponse, Error> {
        let result = (self.respond)(&call);
        self.calls.lock().unwrap().push(call);
        result
    }
}
