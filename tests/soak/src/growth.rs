//! The growth criterion.

use std::time::Duration;

use super::sample::Sample;

/// Time in which the caches of a server process fill. Samples within it are ignored.
pub const WARM_UP: Duration = Duration::from_secs(90);

/// Minimum number of samples after [`WARM_UP`] for a process to be judged.
pub const MIN_SAMPLES: usize = 30;

/// Resource that must not grow, and its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name in the report, with the unit.
    pub name: &'static str,
    /// Reads the value from a sample, in the unit of the name.
    pub value: fn(&Sample) -> f64,
    /// Tolerated growth as a share of the initial mean.
    pub max_share: f64,
    /// Tolerated growth in the unit of the name; the larger of both tolerances applies.
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

/// All resources that must not grow. The tolerances of counts cover the random variation of the
/// traffic; those of the database also cover how many of the retained tasks contain files.
pub const MEASURES: [Measure; 10] = [
    measure("resident memory, MB", |it| it.resident as f64 / 1e6, 0.1, 0.0),
    measure("file descriptors", |it| it.descriptors as f64, 0.0, 10.0),
    measure("connections", |it| it.connections as f64, 0.0, 10.0),
    measure("live tasks", |it| it.live_tasks as f64, 0.0, 10.0),
    measure("turns", |it| it.turns as f64, 0.0, 10.0),
    measure("streams", |it| it.streams as f64, 0.0, 10.0),
    measure("webhooks with pending deliveries", |it| it.webhooks as f64, 0.0, 30.0),
    measure("stored tasks", |it| it.tasks as f64, 0.0, 10.0),
    measure("database in use, MB", |it| it.database as f64 / 1e6, 0.2, 1.0),
    measure("database file, MB", |it| it.file as f64 / 1e6, 0.2, 1.0),
];

/// Change of a measure over the samples of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Mean of the first third.
    pub first: f64,
    /// Mean of the last third.
    pub last: f64,
    /// Slope of the regression line multiplied by the duration.
    pub trend: f64,
    /// Maximum.
    pub max: f64,
}

impl Growth {
    /// Computes the change of a measure; `None` for fewer than three samples.
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

    /// Returns whether the change is above the tolerance of the measure.
    #[must_use]
    pub fn exceeds(&self, measure: &Measure) -> bool {
        let limit = (self.first * measure.max_share).max(measure.max_increase);
        self.trend > limit || self.last - self.first > limit
    }
}

/// Returns the samples of a process after [`WARM_UP`], or `None` if there are fewer than
/// [`MIN_SAMPLES`].
#[must_use]
pub fn steady_samples(samples: &[Sample], generation: u32) -> Option<Vec<&Sample>> {
    let mut in_generation = samples.iter().filter(|it| it.generation == generation).peekable();
    let begin = in_generation.peek()?.seconds + WARM_UP.as_secs_f64();
    let steady: Vec<_> = in_generation.filter(|it| it.seconds >= begin).collect();
    (steady.len() >= MIN_SAMPLES).then_some(steady)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Returns the slope of the least-squares line.
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
            generation: 1,
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
            ("fluctuating", |at| 100 + at % 7, false),
            ("slow growth", |at| 100 + at / 10, false),
            ("leak", |at| 100 + at / 5, true),
            ("step", |at| if at < 45 { 100 } else { 120 }, true),
            ("shrinking", |at| 200 - at, false),
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
