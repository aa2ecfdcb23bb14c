//! Following to the end, for those who do not take event by event.

use futures_core::Stream;
use futures_util::stream;
use latimer_protocol::{SendMessageResponse, StreamResponse, TaskStatus};

use super::Following;
use super::meaning::violation;
use crate::client::text::Texts;
use crate::error::Error;

impl Following {
    /// All events, as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamResponse, Error>> + Send {
        stream::unfold(Some(self), |following| async {
            let mut following = following?;
            match following.next().await {
                Ok(event) => Some((Ok(event?), Some(following))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Follows to the end.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn outcome(mut self) -> Result<SendMessageResponse, Error> {
        while self.next().await?.is_some() {}
        self.done()
    }

    /// Follows to the end, and tells of each piece of text and each new status on the way.
    ///
    /// A text is told once, also when a connection was lost in the middle of it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn tell(
        mut self,
        mut on_text: impl FnMut(&str) + Send,
        mut on_status: impl FnMut(&TaskStatus) + Send,
    ) -> Result<SendMessageResponse, Error> {
        let mut texts = Texts::default();
        let mut state = None;
        while let Some(event) = self.next().await? {
            texts.tell(&event, &mut on_text);
            if let Some(status) = event.status()
                && (state != Some(status.state) || status.message.is_some())
            {
                state = Some(status.state);
                on_status(status);
            }
        }
        self.done()
    }

    fn done(self) -> Result<SendMessageResponse, Error> {
        match (self.answer, self.task) {
            (Some(answer), _) => Ok(SendMessageResponse::Message(answer)),
            (None, Some(task)) => Ok(SendMessageResponse::Task(task.into())),
            (None, None) => Err(violation("it tells of no task")),
        }
    }
}
