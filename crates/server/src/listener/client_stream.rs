//! TCP stream of a client, which may close its direction before it has the response.
//!
//! Hyper neither reads nor polls for the end of the stream while an HTTP/1 request is handled, but
//! flushes its output whenever it is polled. A flush therefore watches for the end.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Time for a response after the client has closed its direction. A client that closed the whole
/// connection looks the same until something is written to it.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of checks for the end of a stream that has unread data.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum time that a closed connection reads the rest of a request. Closing earlier would reset the
/// connection, and the client could lose the response.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the buffer for discarded bytes.
const DISCARD_BUFFER_BYTES: usize = 16 * 1024;

/// TCP stream that fails some time after the client has closed its direction, and that reads the
/// rest of a request when it is shut down.
pub(super) struct ClientStream {
    stream: TcpStream,
    /// Whether the last response left a part of its request unread.
    request_unread: Arc<AtomicBool>,
    state: StreamState,
    /// Time of the next check for the end of a stream that has unread data.
    recheck: Option<Pin<Box<Sleep>>>,
}

enum StreamState {
    Open,
    /// The client has closed its direction. The timer ends the connection.
    HalfClosed(Pin<Box<Sleep>>),
    /// The server has closed its direction, and discards what the client sends.
    Lingering(Pin<Box<Sleep>>),
}

impl ClientStream {
    /// Wraps a stream. `request_unread` is read when the stream is shut down.
    pub(super) fn new(stream: TcpStream, request_unread: Arc<AtomicBool>) -> Self {
        Self { stream, request_unread, state: StreamState::Open, recheck: None }
    }

    /// Fails if the connection was reset, or if the client closed its direction
    /// [`HALF_CLOSED_TIMEOUT`] ago. Otherwise wakes the task when the client closes its direction.
    fn check_client(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while matches!(self.state, StreamState::Open)
            && self.stream.poll_read_ready(context)?.is_ready()
        {
            if self.is_read_closed()? {
                self.state = StreamState::HalfClosed(Box::pin(sleep(HALF_CLOSED_TIMEOUT)));
                break;
            }
            // Unread data keeps the stream readable, so that nothing reports the end after it.
            let timer = self.recheck.get_or_insert_with(|| Box::pin(sleep(RECHECK_INTERVAL)));
            if timer.as_mut().poll(context).is_pending() {
                break;
            }
            timer.as_mut().reset(Instant::now() + RECHECK_INTERVAL);
        }
        match &mut self.state {
            StreamState::HalfClosed(timer) => match timer.as_mut().poll(context) {
                Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
                Poll::Pending => Ok(()),
            },
            StreamState::Open | StreamState::Lingering(_) => Ok(()),
        }
    }

    /// Returns whether the client has closed its direction, for a stream that is ready to be read.
    ///
    /// # Errors
    /// Fails if the connection was reset.
    fn is_read_closed(&self) -> io::Result<bool> {
        let readiness = pin!(self.stream.ready(Interest::READABLE));
        match readiness.poll(&mut Context::from_waker(Waker::noop()))? {
            Poll::Ready(readiness) if readiness.is_read_closed() => {
                self.stream.take_error()?.map_or(Ok(true), Err)
            }
            Poll::Ready(_) | Poll::Pending => Ok(false),
        }
    }

    /// Discards received bytes until the client closes its direction or the timer fires.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let StreamState::Lingering(timer) = &mut self.state else { return Poll::Ready(()) };
        if timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut discarded = [0; DISCARD_BUFFER_BYTES];
        let mut buffer = ReadBuf::new(&mut discarded);
        match ready!(pin!(&mut self.stream).poll_read(context, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => {
                // Yields, so that a fast client does not occupy the thread.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(()) | Err(_) => Poll::Ready(()),
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_client(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !matches!(self.state, StreamState::Lingering(_)) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            if !self.request_unread.load(Relaxed) {
                return Poll::Ready(Ok(()));
            }
            self.state = StreamState::Lingering(Box::pin(sleep(LINGER_TIMEOUT)));
        }
        self.poll_linger(context).map(Ok)
    }
}
