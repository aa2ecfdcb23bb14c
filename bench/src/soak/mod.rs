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
use tokio::time::{sleep, sleep_until, timeout};

use self::caller::Caller;
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

/// Has traffic, and faults, and looks on.
///
/// # Errors
/// When it cannot begin, or the server does not come back.
pub async fn run(plan: &Plan) -> Result<Outcome, Failure> {
    let mut random = Random::new(plan.seed);
    let mut server = Server::set_up(plan)?;
    let world = Arc::new(World::new(server.address()).await?);
    server.start().await?;
    let mut sampler = Sampler::new(&server);
    let mut fresh = sampler.look(&world).await?;
    world.is_up();
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..plan.callers {
        callers.spawn(Caller::new(&world, random.any()).serve());
    }
    callers.spawn(world.clone().be_away_now_and_then(AWAY_EVERY, AWAY));
    let mut samples = Vec::new();
    for (share, stop) in STOPS {
        look_until(begin + plan.time.mul_f64(share), &world, &mut sampler, &mut samples).await?;
        note(&format!("{stop:?} at {:.0} s", begin.elapsed().as_secs_f64()));
        world.is_down();
        server.stop(stop, &world).await?;
        server.start().await?;
        sampler = sampler.again(&server);
        fresh = sampler.look(&world).await?;
        world.is_up();
    }
    look_until(begin + plan.time, &world, &mut sampler, &mut samples).await?;
    world.is_over();
    while callers.join_next().await.transpose()?.is_some() {}
    let rest = come_to_rest(&world, &mut sampler, &mut samples).await?;
    world.is_down();
    server.stop(Stop::Terminate, &world).await?;
    for line in server.complaints()? {
        world.fault("log", line);
    }
    let (faults, fault_count) = world.faults();
    let webhooks = world.receiver.account();
    Ok(Outcome { samples, fresh, rest, tallies: world.tallies(), webhooks, faults, fault_count })
}

async fn look_until(
    end: Instant,
    world: &Arc<World>,
    sampler: &mut Sampler,
    samples: &mut Vec<Sample>,
) -> Result<(), Failure> {
    let mut next = Instant::now();
    while next + LOOK_EVERY < end {
        next += LOOK_EVERY;
        sleep_until(next.into()).await;
        samples.push(sampler.look(world).await?);
        letters::look_after(world).await;
    }
    sleep_until(end.into()).await;
    Ok(())
}

/// Waits until nothing is going on, and all that is owed to webhooks was delivered or given up.
async fn come_to_rest(
    world: &Arc<World>,
    sampler: &mut Sampler,
    samples: &mut Vec<Sample>,
) -> Result<Sample, Failure> {
    let resting = async {
        loop {
            sleep(LOOK_EVERY).await;
            let sample = sampler.look(world).await?;
            letters::look_after(world).await;
            let quiet = sample.is_quiet() && world.receiver.is_settled();
            samples.push(sample.clone());
            if quiet {
                return Ok::<_, Failure>(sample);
            }
        }
    };
    if let Ok(rest) = timeout(REST, resting).await {
        return rest;
    }
    for missing in world.receiver.missing() {
        world.fault("webhook", missing);
    }
    let sample = sampler.look(world).await?;
    if !sample.is_quiet() {
        world.fault("rest", format!("it does not come to rest: {sample:?}"));
    }
    Ok(sample)
}
