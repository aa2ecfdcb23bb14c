//! A soak: mixed traffic with faults for some minutes, and what is left of it.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`server`] | the program: started, stopped, killed, started again |
//! | [`caller`], [`scenario`] | who calls it, and what for |
//! | [`wire_format`], [`task_view`], [`events`] | how that is said, and how answers are read |
//! | [`receiver`], [`dead_letters`] | where its webhooks lead, and what is owed to them |
//! | [`sample`], [`growth`] | what it took, and whether that grew |
//! | [`context`], [`error`] | what all of them share, and the faults that are found |

pub mod caller;
pub mod context;
pub mod dead_letters;
pub mod error;
pub mod events;
pub mod growth;
pub mod random;
pub mod receiver;
pub mod sample;
pub mod scenario;
pub mod server;
pub mod task_view;
pub mod wire_format;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use self::caller::Caller;
use self::context::{SoakContext, Tally, Violation};
use self::random::Random;
use self::sample::{Sample, Sampler};
use self::scenario::Scenario;
use self::server::{Server, StopMode};
use latimer_bench::BenchError;
use latimer_bench::report::print_progress;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program.
    pub program: PathBuf,
    /// A folder for its files, which is there and empty.
    pub dir: PathBuf,
    /// How long there is traffic.
    pub duration: Duration,
    /// How many callers there are at a time.
    pub callers: u64,
    /// What they do, by chance.
    pub scenarios: Vec<Scenario>,
    /// How nice the program is to others.
    pub nice: i32,
    /// Where chance begins.
    pub seed: u64,
}

/// When the server is stopped, as a share of the time, and how. It begins four lives, of which two
/// are long.
pub const STOPS: [(f64, StopMode); 3] =
    [(0.1, StopMode::Terminate), (0.5, StopMode::Kill), (0.9, StopMode::Terminate)];

/// How often somebody looks at the server.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(2);

/// The receiver is away for so long, that often.
const OFFLINE_INTERVAL: Duration = Duration::from_secs(20);
const OFFLINE_DURATION: Duration = Duration::from_secs(2);

/// How long everything may take to come to rest when nobody calls any more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Debug)]
pub struct SoakResult {
    /// What was seen, in order.
    pub samples: Vec<Sample>,
    /// The server as it was before anybody called, in its last life.
    pub initial: Sample,
    /// And when nobody called any more.
    pub idle: Sample,
    /// What callers did, by errand.
    pub tallies: Vec<(&'static str, Tally)>,
    /// Webhooks that got everything, and what was given up on the way.
    pub webhooks: receiver::DeliverySummary,
    /// What should not have happened; the first of them.
    pub violations: Vec<Violation>,
    /// How many there were.
    pub violation_count: u64,
}

/// Has traffic, and faults, and looks on; `keep` is shown each sample when it is taken.
///
/// # Errors
/// When it cannot begin, the server does not come back, or a sample cannot be kept.
pub async fn run(plan: &Plan, sink: SampleSink<'_>) -> Result<SoakResult, BenchError> {
    let mut random = Random::new(plan.seed);
    let mut server = Server::configure(plan)?;
    let context = Arc::new(SoakContext::new(server.address(), plan.scenarios.clone()).await?);
    server.start().await?;
    let sampler = Sampler::new(&server);
    let mut initial = sampler.sample(&context).await?;
    let mut monitor = Monitor { context: &context, sampler, samples: Vec::new(), sink };
    context.mark_up();
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..plan.callers {
        callers.spawn(Caller::new(&context, random.next_u64()).run());
    }
    callers.spawn(context.clone().cycle_receiver(OFFLINE_INTERVAL, OFFLINE_DURATION));
    for (share, mode) in STOPS {
        monitor.sample_until(start + plan.duration.mul_f64(share)).await?;
        print_progress(&format!("{mode:?} at {:.0} s", start.elapsed().as_secs_f64()));
        context.mark_down();
        server.stop(mode, &context).await?;
        server.start().await?;
        monitor.sampler = monitor.sampler.next_generation(&server);
        initial = monitor.sampler.sample(&context).await?;
        context.mark_up();
    }
    monitor.sample_until(start + plan.duration).await?;
    context.finish();
    while callers.join_next().await.transpose()?.is_some() {}
    let idle = monitor.sample_until_idle().await?;
    let samples = monitor.samples;
    context.mark_down();
    server.stop(StopMode::Terminate, &context).await?;
    for line in server.log_lines()? {
        context.record_violation("log", line);
    }
    let (violations, violation_count) = context.violations();
    let webhooks = context.receiver.summary();
    Ok(SoakResult {
        samples,
        initial,
        idle,
        tallies: context.tallies(),
        webhooks,
        violations,
        violation_count,
    })
}

/// Somebody who keeps samples.
pub type SampleSink<'a> = &'a mut dyn FnMut(&Sample) -> Result<(), BenchError>;

/// Somebody who looks on.
struct Monitor<'a> {
    context: &'a Arc<SoakContext>,
    sampler: Sampler,
    samples: Vec<Sample>,
    sink: SampleSink<'a>,
}

impl Monitor<'_> {
    async fn take_sample(&mut self) -> Result<Sample, BenchError> {
        let sample = self.sampler.sample(self.context).await?;
        (self.sink)(&sample)?;
        self.samples.push(sample.clone());
        dead_letters::process_dead_letters(self.context).await;
        Ok(sample)
    }

    async fn sample_until(&mut self, end: Instant) -> Result<(), BenchError> {
        let mut next = Instant::now();
        while next + SAMPLE_INTERVAL < end {
            next += SAMPLE_INTERVAL;
            sleep_until(next.into()).await;
            self.take_sample().await?;
        }
        sleep_until(end.into()).await;
        Ok(())
    }

    /// Waits until nothing is going on, and all that is owed to webhooks was delivered or given up.
    async fn sample_until_idle(&mut self) -> Result<Sample, BenchError> {
        let start = Instant::now();
        loop {
            sleep(SAMPLE_INTERVAL).await;
            let sample = self.take_sample().await?;
            let is_idle = sample.is_idle();
            if is_idle && self.context.receiver.is_complete() {
                return Ok(sample);
            }
            if start.elapsed() < IDLE_TIMEOUT {
                continue;
            }
            for missing in self.context.receiver.missing() {
                self.context.record_violation("webhook", missing);
            }
            if !is_idle {
                self.context
                    .record_violation("rest", format!("it does not come to rest: {sample:?}"));
            }
            return Ok(sample);
        }
    }
}
