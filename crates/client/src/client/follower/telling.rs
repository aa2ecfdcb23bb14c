//! Following to the end, for those who do not take event by event.

use futures_core::Stream;
use futures_util::stream;
use latimer_protocol::{SendMessageResponse, StreamResponse, TaskStatus};

use super::TaskFollower;
use super::meaning::protocol_violation;
use crate::client::text_deltas::TextDeltas;
use crate::error::Error;

impl TaskFollower {
    /// All events, as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamResponse, Error>> + Send {
        stream::unfold(Some(self), |follower| async {
            let mut follower = follower?;
            match follower.next().await {
                Ok(event) => Some((Ok(event?), Some(follower))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Follows to the end.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn result(mut self) -> Result<SendMessageResponse, Error> {
        while self.next().await?.is_some() {}
        self.into_result()
    }

    /// Follows to the end, and tells of each piece of text and each new status on the way.
    ///
    /// A text is told once, also when a connection was lost in the middle of it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn for_each_update(
        mut self,
        mut on_text: impl FnMut(&str) + Send,
        mut on_status: impl FnMut(&TaskStatus) + Send,
    ) -> Result<SendMessageResponse, Error> {
        let mut deltas = TextDeltas::default();
        let mut state = None;
        while let Some(event) = self.next().await? {
            deltas.emit(&event, &mut on_text);
            if let Some(status) = event.status()
                && (state != Some(status.state) || status.message.is_some())
            {
                state = Some(status.state);
                on_status(status);
            }
        }
        self.into_result()
    }

    fn into_result(self) -> Result<SendMessageResponse, Error> {
        match (self.direct_reply, self.task) {
            (Some(reply), _) => Ok(SendMessageResponse::Message(reply)),
            (None, Some(task)) => Ok(SendMessageResponse::Task(task.into())),
            (None, None) => Err(protocol_violation("it tells of no task")),
        }
    }
}
