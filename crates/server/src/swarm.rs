//! Routing of swarm directives to a handler instead of the agent they are sent to.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::swarm::Directive;
use latimer_protocol::{Message, Task};

use crate::agent::Policy;
use crate::card_handle::CardHandle;
use crate::executor::{Executor, Health};
use crate::turn::{AgentFailure, Turn};

/// Handler of directives. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Swarm(Arc<Handler>);

type Handler = dyn Fn(Directive, Turn) -> HandlerFuture + Send + Sync;
type HandlerFuture = Pin<Box<dyn Future<Output = Result<(), AgentFailure>> + Send>>;

impl Swarm {
    pub(crate) fn new<F, R, E>(handler: F) -> Self
    where
        F: Fn(Directive, Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        Self(Arc::new(move |directive, turn| {
            let future = handler(directive, turn);
            Box::pin(async move { future.await.map_err(Into::into) })
        }))
    }

    /// Wraps an executor so that directives go to this handler and all other messages to the
    /// executor.
    pub(crate) fn wrap(&self, executor: Arc<dyn Executor>) -> Arc<dyn Executor> {
        Arc::new(SwarmRouter { executor, swarm: self.clone() })
    }

    async fn handle(&self, directive: Directive, turn: Turn) -> Result<(), AgentFailure> {
        (self.0)(directive, turn).await
    }
}

/// Executor that passes directives to a swarm handler.
struct SwarmRouter {
    executor: Arc<dyn Executor>,
    swarm: Swarm,
}

impl fmt::Debug for SwarmRouter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("SwarmRouter").field(&self.executor).finish()
    }
}

#[async_trait]
impl Executor for SwarmRouter {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        match Directive::from_message(turn.message()) {
            None => self.executor.execute(turn).await,
            Some(_) if turn.caller().is_anonymous() => {
                Ok(turn.reject("directives require an authenticated caller").await?)
            }
            Some(Err(unknown)) => Ok(turn.reject(unknown.to_string()).await?),
            Some(Ok(directive)) => self.swarm.handle(directive, turn).await,
        }
    }

    /// Fails interrupted directives: the handler may have carried out a part of them.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        match Directive::from_message(turn.message()) {
            None => self.executor.recover(turn).await,
            Some(_) => Err(AgentFailure::interrupted_by_restart()),
        }
    }

    async fn check(&self, turn: &Turn) -> Result<(), AgentFailure> {
        match Directive::from_message(turn.message()) {
            None => self.executor.check(turn).await,
            Some(_) => Ok(()),
        }
    }

    fn default_policy(&self) -> Policy {
        self.executor.default_policy()
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        self.executor.release(task, note).await;
    }

    fn accepts_duplicate(&self, message: &Message) -> bool {
        Directive::from_message(message).is_none() && self.executor.accepts_duplicate(message)
    }

    fn on_publish(&self, card: &CardHandle) {
        self.executor.on_publish(card);
    }

    fn health(&self) -> Option<Health> {
        self.executor.health()
    }
}
