//! Whether something grows.

use std::time::Duration;

use super::sample::Sample;

/// What a server needs until it is as it stays: its caches fill. Nothing of that is judged.
pub const WARM_UP: Duration = Duration::from_secs(90);

/// The fewest samples behind that by which it is judged.
pub const MIN_SAMPLES: usize = 30;

/// Something that must not grow.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// What it is called in tables.
    pub name: &'static str,
    /// Finds it in a sample, in the unit of the name.
    pub value: fn(&Sample) -> f64,
    /// It may grow by this share.
    pub max_share: f64,
    /// Or by this much, if that is more.
    pub max_increase: f64,
}

const fn measure(
    name: &'static str,
    value: fn(&Sample) -> f64,
    max_share: f64,
    max_increase: f64,
) -> Measure {
    Measure { name, value, max_share, max_increase }
}

/// Everything that must not grow. What comes and goes with the traffic is given as much room as
/// chance takes: that is also how many of the tasks that are kept have files.
pub const MEASURES: [Measure; 10] = [
    measure("resident memory, MB", |it| it.resident as f64 / 1e6, 0.1, 0.0),
    measure("file descriptors", |it| it.descriptors as f64, 0.0, 10.0),
    measure("connections", |it| it.connections as f64, 0.0, 10.0),
    measure("live tasks", |it| it.live_tasks as f64, 0.0, 10.0),
    measure("turns", |it| it.turns as f64, 0.0, 10.0),
    measure("streams", |it| it.streams as f64, 0.0, 10.0),
    measure("webhooks with something to do", |it| it.webhooks as f64, 0.0, 30.0),
    measure("tasks that are kept", |it| it.tasks as f64, 0.0, 10.0),
    measure("database in use, MB", |it| it.database as f64 / 1e6, 0.2, 1.0),
    measure("database file, MB", |it| it.file as f64 / 1e6, 0.2, 1.0),
];

/// How something changed over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The mean of the first third.
    pub first: f64,
    /// The mean of the last third.
    pub last: f64,
    /// The slope of the line nearest to all of it, times the time.
    pub trend: f64,
    /// The most it was.
    pub max: f64,
}

impl Growth {
    /// How a measure changed over samples; none when there are too few.
    #[must_use]
    pub fn from_samples(samples: &[&Sample], value: fn(&Sample) -> f64) -> Option<Self> {
        if samples.len() < 3 {
            return None;
        }
        let points: Vec<_> = samples.iter().map(|it| (it.seconds, value(it))).collect();
        let values = |points: &[(f64, f64)]| mean(points.iter().map(|(_, value)| *value));
        let third = points.len() / 3;
        let time = points[points.len() - 1].0 - points[0].0;
        Some(Self {
            first: values(&points[..third]),
            last: values(&points[points.len() - third..]),
            trend: slope(&points) * time,
            max: points.iter().map(|(_, value)| *value).fold(f64::MIN, f64::max),
        })
    }

    /// Whether that is more than may be.
    #[must_use]
    pub fn exceeds(&self, measure: &Measure) -> bool {
        let limit = (self.first * measure.max_share).max(measure.max_increase);
        self.trend > limit || self.last - self.first > limit
    }
}

/// The samples of a life that count, if there are enough of them.
#[must_use]
pub fn steady_samples(samples: &[Sample], generation: u32) -> Option<Vec<&Sample>> {
    let mut in_generation = samples.iter().filter(|it| it.life == generation).peekable();
    let begin = in_generation.peek()?.seconds + WARM_UP.as_secs_f64();
    let steady: Vec<_> = in_generation.filter(|it| it.seconds >= begin).collect();
    (steady.len() >= MIN_SAMPLES).then_some(steady)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let x = mean(points.iter().map(|(x, _)| *x));
    let y = mean(points.iter().map(|(_, y)| *y));
    let covariance: f64 = points.iter().map(|(px, py)| (px - x) * (py - y)).sum();
    let variance: f64 = points.iter().map(|(px, _)| (px - x).powi(2)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Measure = MEASURES[0];

    fn samples(resident: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |at| Sample {
            seconds: at as f64 * 2.0,
            life: 1,
            resident: resident(at) * 1_000_000,
            ..Sample::default()
        };
        (0..90).map(sample).collect()
    }

    fn growth(resident: impl Fn(u64) -> u64) -> Growth {
        let samples = samples(resident);
        Growth::from_samples(&samples.iter().collect::<Vec<_>>(), MEMORY.value).unwrap()
    }

    #[test]
    fn growth_is_distinguished_from_fluctuation() {
        for (name, resident, exceeds) in [
            ("flat", (|_| 100) as fn(u64) -> u64, false),
            ("up and down", |at| 100 + at % 7, false),
            ("a little", |at| 100 + at / 10, false),
            ("a leak", |at| 100 + at / 5, true),
            ("a step", |at| if at < 45 { 100 } else { 120 }, true),
            ("less and less", |at| 200 - at, false),
        ] {
            let growth = growth(resident);
            assert_eq!(growth.exceeds(&MEMORY), exceeds, "{name}: {growth:?}");
        }
    }

    #[test]
    fn linear_growth_has_exact_trend() {
        let growth = growth(|at| 100 + at);
        assert!((growth.trend - 89.0).abs() < 1e-6, "{growth:?}");
        assert!((growth.last - growth.first - 60.0).abs() < 1e-6, "{growth:?}");
        assert!((growth.max - 189.0).abs() < 1e-6, "{growth:?}");
    }

    #[test]
    fn warm_up_is_ignored_and_few_samples_are_rejected() {
        let samples = samples(|_| 1);
        assert_eq!(steady_samples(&samples, 1).unwrap().len(), 45);
        assert!(steady_samples(&samples[..74], 1).is_none());
        assert!(steady_samples(&samples, 2).is_none());
    }
}
