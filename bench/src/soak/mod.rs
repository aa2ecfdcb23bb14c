//! A soak: mixed traffic with faults for some minutes, and what is left of it.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`server`] | the program: started, stopped, killed, started again |
//! | [`caller`], [`errand`] | who calls it, and what for |
//! | [`speech`], [`seen`], [`events`] | how that is said, and how answers are read |
//! | [`receiver`], [`letters`] | where its webhooks lead, and what is owed to them |
//! | [`sample`], [`growth`] | what it took, and whether that grew |
//! | [`world`], [`trouble`] | what all of them share, and the faults that are found |

pub mod caller;
pub mod errand;
pub mod events;
pub mod growth;
pub mod letters;
pub mod random;
pub mod receiver;
pub mod sample;
pub mod seen;
pub mod server;
pub mod speech;
pub mod trouble;
pub mod world;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use self::caller::Caller;
use self::errand::Errand;
use self::random::Random;
use self::sample::{Sample, Sampler};
use self::server::{Server, Stop};
use self::world::{Fault, Tally, World};
use crate::Failure;
use crate::report::note;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program.
    pub latimer: PathBuf,
    /// A folder for its files, which is there and empty.
    pub folder: PathBuf,
    /// How long there is traffic.
    pub time: Duration,
    /// How many callers there are at a time.
    pub callers: u64,
    /// What they do, by chance.
    pub errands: Vec<Errand>,
    /// How nice the program is to others.
    pub nice: i32,
    /// Where chance begins.
    pub seed: u64,
}

/// When the server is stopped, as a share of the time, and how. It begins four lives, of which two
/// are long.
pub const STOPS: [(f64, Stop); 3] =
    [(0.1, Stop::Terminate), (0.5, Stop::Kill), (0.9, Stop::Terminate)];

/// How often somebody looks at the server.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The receiver is away for so long, that often.
const AWAY_EVERY: Duration = Duration::from_secs(20);
const AWAY: Duration = Duration::from_secs(2);

/// How long everything may take to come to rest when nobody calls any more.
const REST: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was seen, in order.
    pub samples: Vec<Sample>,
    /// The server as it was before anybody called, in its last life.
    pub fresh: Sample,
    /// And when nobody called any more.
    pub rest: Sample,
    /// What callers did, by errand.
    pub tallies: Vec<(&'static str, Tally)>,
    /// Webhooks that got everything, and what was given up on the way.
    pub webhooks: receiver::Account,
    /// What should not have happened; the first of them.
    pub faults: Vec<Fault>,
    /// How many there were.
    pub fault_count: u64,
}

/// Has traffic, and faults, and looks on; `keep` is shown each sample when it is taken.
///
/// # Errors
/// When it cannot begin, the server does not come back, or a sample cannot be kept.
pub async fn run(plan: &Plan, keep: Keep<'_>) -> Result<Outcome, Failure> {
    let mut random = Random::new(plan.seed);
    let mut server = Server::set_up(plan)?;
    let world = Arc::new(World::new(server.address(), plan.errands.clone()).await?);
    server.start().await?;
    let sampler = Sampler::new(&server);
    let mut fresh = sampler.look(&world).await?;
    let mut lookout = Lookout { world: &world, sampler, samples: Vec::new(), keep };
    world.is_up();
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..plan.callers {
        callers.spawn(Caller::new(&world, random.any()).serve());
    }
    callers.spawn(world.clone().be_away_now_and_then(AWAY_EVERY, AWAY));
    for (share, stop) in STOPS {
        lookout.look_until(begin + plan.time.mul_f64(share)).await?;
        note(&format!("{stop:?} at {:.0} s", begin.elapsed().as_secs_f64()));
        world.is_down();
        server.stop(stop, &world).await?;
        server.start().await?;
        lookout.sampler = lookout.sampler.again(&server);
        fresh = lookout.sampler.look(&world).await?;
        world.is_up();
    }
    lookout.look_until(begin + plan.time).await?;
    world.is_over();
    while callers.join_next().await.transpose()?.is_some() {}
    let rest = lookout.look_until_quiet().await?;
    let samples = lookout.samples;
    world.is_down();
    server.stop(Stop::Terminate, &world).await?;
    for line in server.complaints()? {
        world.fault("log", line);
    }
    let (faults, fault_count) = world.faults();
    let webhooks = world.receiver.account();
    Ok(Outcome { samples, fresh, rest, tallies: world.tallies(), webhooks, faults, fault_count })
}

/// Somebody who keeps samples.
pub type Keep<'a> = &'a mut dyn FnMut(&Sample) -> Result<(), Failure>;

/// Somebody who looks on.
struct Lookout<'a> {
    world: &'a Arc<World>,
    sampler: Sampler,
    samples: Vec<Sample>,
    keep: Keep<'a>,
}

impl Lookout<'_> {
    async fn look(&mut self) -> Result<Sample, Failure> {
        let sample = self.sampler.look(self.world).await?;
        (self.keep)(&sample)?;
        self.samples.push(sample.clone());
        letters::look_after(self.world).await;
        Ok(sample)
    }

    async fn look_until(&mut self, end: Instant) -> Result<(), Failure> {
        let mut next = Instant::now();
        while next + LOOK_EVERY < end {
            next += LOOK_EVERY;
            sleep_until(next.into()).await;
            self.look().await?;
        }
        sleep_until(end.into()).await;
        Ok(())
    }

    /// Waits until nothing is going on, and all that is owed to webhooks was delivered or given up.
    async fn look_until_quiet(&mut self) -> Result<Sample, Failure> {
        let begin = Instant::now();
        loop {
            sleep(LOOK_EVERY).await;
            let sample = self.look().await?;
            let quiet = sample.is_quiet();
            if quiet && self.world.receiver.is_settled() {
                return Ok(sample);
            }
            if begin.elapsed() < REST {
                continue;
            }
            for missing in self.world.receiver.missing() {
                self.world.fault("webhook", missing);
            }
            if !quiet {
                self.world.fault("rest", format!("it does not come to rest: {sample:?}"));
            }
            return Ok(sample);
        }
    }
}
