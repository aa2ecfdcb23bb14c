//! Directives of a swarm, which go past the agents they are sent to.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::swarm::Directive;
use latimer_protocol::{Message, Task};

use crate::executor::{Executor, Health};
use crate::placard::Placard;
use crate::turn::{Failure, Turn};

/// Who is handed directives.
#[derive(Clone)]
pub(crate) struct Swarm(Arc<Handler>);

type Handler = dyn Fn(Directive, Turn) -> Done + Send + Sync;
type Done = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

impl Swarm {
    pub(crate) fn new<F, R, E>(handler: F) -> Self
    where
        F: Fn(Directive, Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        Self(Arc::new(move |directive, turn| {
            let done = handler(directive, turn);
            Box::pin(async move { done.await.map_err(Into::into) })
        }))
    }

    /// What is handed everything but directives.
    pub(crate) fn before(&self, agent: Arc<dyn Executor>) -> Arc<dyn Executor> {
        Arc::new(Diverted { agent, swarm: self.clone() })
    }

    async fn handle(&self, directive: Directive, turn: Turn) -> Result<(), Failure> {
        (self.0)(directive, turn).await
    }
}

/// An agent whose directives somebody else is handed.
struct Diverted {
    agent: Arc<dyn Executor>,
    swarm: Swarm,
}

impl fmt::Debug for Diverted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Diverted").field(&self.agent).finish()
    }
}

#[async_trait]
impl Executor for Diverted {
    async fn execute(&self, turn: Turn) -> Result<(), Failure> {
        match Directive::from_message(turn.message()) {
            None => self.agent.execute(turn).await,
            Some(_) if turn.caller().is_anonymous() => {
                Ok(turn.reject("only callers who say who they are may give directives").await?)
            }
            Some(Err(unknown)) => Ok(turn.reject(unknown.to_string()).await?),
            Some(Ok(directive)) => self.swarm.handle(directive, turn).await,
        }
    }

    /// A directive is not given again: nobody knows how far its handler came.
    async fn recover(&self, turn: Turn) -> Result<(), Failure> {
        match Directive::from_message(turn.message()) {
            None => self.agent.recover(turn).await,
            Some(_) => Err(Failure::restarted()),
        }
    }

    async fn let_go(&self, task: &Task, note: Option<&str>) {
        self.agent.let_go(task, note).await;
    }

    fn may_repeat(&self, message: &Message) -> bool {
        Directive::from_message(message).is_none() && self.agent.may_repeat(message)
    }

    fn publish(&self, placard: &Placard) {
        self.agent.publish(placard);
    }

    fn health(&self) -> Option<Health> {
        self.agent.health()
    }
}
