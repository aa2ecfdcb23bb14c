//! Soak test of the `latimer` program: mixed traffic with injected faults, followed by checks that
//! every response was an expected one and that no resource grew.
//!
//! | module | contents |
//! | --- | --- |
//! | [`server`] | the server process: configuration, start, stop, kill |
//! | [`caller`] | one concurrent caller and its connection |
//! | [`scenario`] | the calls that a caller makes and the responses it expects |
//! | [`wire_format`], [`events`], [`task_view`] | requests per protocol version, event streams, responses of any version |
//! | [`receiver`] | webhook receiver that fails on purpose, and its ledger of expected deliveries |
//! | [`dead_letters`] | operator that replays and deletes dead letters |
//! | [`sample`], [`growth`] | resource usage over time, and the growth criterion |
//! | [`context`], [`error`], [`random`] | state shared by all tasks, scenario errors, seeded random numbers |
//!
//! The `latimer-soak` program parses the options, calls [`run`] and prints the report.

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

/// Options of one soak run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Path of the `latimer` program under test.
    pub program: PathBuf,
    /// Existing empty directory for the configuration, database and log of the server.
    pub dir: PathBuf,
    /// Duration of the traffic.
    pub duration: Duration,
    /// Number of concurrent callers.
    pub callers: u64,
    /// Scenarios from which callers pick at random; must not be empty.
    pub scenarios: Vec<Scenario>,
    /// Niceness of the server process.
    pub nice: i32,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Server stops: the share of the duration after which each happens, and its kind. They split the
/// run into four server processes, of which two run long enough to be judged for growth.
pub const STOPS: [(f64, StopMode); 3] =
    [(0.1, StopMode::Terminate), (0.5, StopMode::Kill), (0.9, StopMode::Terminate)];

/// Interval between two samples of the server.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(2);

/// Time online between two outages of the webhook receiver.
const OFFLINE_INTERVAL: Duration = Duration::from_secs(20);
/// Length of one outage of the webhook receiver.
const OFFLINE_DURATION: Duration = Duration::from_secs(2);

/// Time within which the server must become idle after the last call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Observations of one soak run.
#[derive(Debug)]
pub struct SoakResult {
    /// Samples of all server processes in chronological order.
    pub samples: Vec<Sample>,
    /// Sample of the last server process before its first call.
    pub initial: Sample,
    /// Sample after all callers stopped and the server became idle or the wait timed out.
    pub idle: Sample,
    /// Results of the scenarios, by scenario name.
    pub tallies: Vec<(&'static str, Tally)>,
    /// Counts of webhook deliveries.
    pub webhooks: receiver::DeliverySummary,
    /// The first violations, up to a limit.
    pub violations: Vec<Violation>,
    /// Number of all violations.
    pub violation_count: u64,
}

/// Runs callers against a server process, stops and restarts it at the times in [`STOPS`], and takes
/// samples, each of which is passed to `sink` at once. Unexpected responses become violations in the
/// result.
///
/// # Errors
/// Fails if the server or the webhook receiver cannot be started, the server does not restart, or
/// `sink` fails.
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

/// Function that stores a sample as soon as it is taken.
pub type SampleSink<'a> = &'a mut dyn FnMut(&Sample) -> Result<(), BenchError>;

/// Takes samples of the server while callers run, and processes its dead letters.
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

    /// Waits until the server is idle and every expected webhook event was delivered or became a
    /// dead letter. Records a violation after [`IDLE_TIMEOUT`].
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
                self.context.record_violation(
                    "idle",
                    format!("the server does not become idle: {sample:?}"),
                );
            }
            return Ok(sample);
        }
    }
}
