//! Service with scripted responses that records its calls.

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

    /// Returns the last call.
    pub(crate) fn last_call(&self) -> Call {
        self.calls.lock().unwrap().last().expect("the service was called").clone()
    }
}

impl fmt::Debug for ScriptedService {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ScriptedService")
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
