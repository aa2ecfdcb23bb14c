//! How long things took, in little space.

/// Counts durations in buckets that are less than one percent wide. The greatest is kept as it is.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
    over: [u64; THRESHOLDS.len()],
}

/// Durations in nanoseconds of which it is counted how often they were exceeded: 5, 10 and 20 ms.
const THRESHOLDS: [u64; 3] = [5_000_000, 10_000_000, 20_000_000];

/// Each power of two has this many buckets, as a power of two.
const FINENESS: u32 = 7;

impl Histogram {
    /// Counts one duration.
    pub fn add(&mut self, nanos: u64) {
        let index = index(nanos);
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, 0);
        }
        self.buckets[index] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
        for (over, threshold) in self.over.iter_mut().zip(THRESHOLDS) {
            *over += u64::from(nanos > threshold);
        }
    }

    /// Counts all that another one counted.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += others;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
        for (mine, others) in self.over.iter_mut().zip(other.over) {
            *mine += others;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest, in microseconds.
    #[must_use]
    pub fn max_micros(&self) -> f64 {
        micros(self.max)
    }

    /// How many took more than 5, 10 and 20 ms.
    #[must_use]
    pub fn over(&self) -> [u64; 3] {
        self.over
    }

    /// What this share of them did not exceed, in microseconds.
    #[must_use]
    pub fn quantile_micros(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return micros(middle(index).min(self.max));
            }
        }
        micros(self.max)
    }
}

fn index(nanos: u64) -> usize {
    let bits = u64::BITS - nanos.leading_zeros();
    let shift = bits.saturating_sub(FINENESS + 1);
    ((u64::from(shift) << FINENESS) + (nanos >> shift)) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> u64 {
    let (index, step) = (index as u64, 1u64 << FINENESS);
    if index < 2 * step {
        return index;
    }
    let shift = index / step - 1;
    ((index - shift * step) << shift) + (1 << shift) / 2
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_less_than_one_percent_wide() {
        for nanos in [0, 1, 127, 128, 255, 256, 1_000, 99_999, 1_234_567, 20_000_001, u64::MAX / 2]
        {
            let found = middle(index(nanos));
            let error = found.abs_diff(nanos) as f64;
            assert!(error <= nanos as f64 / 128.0, "{nanos} was found as {found}");
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let mut histogram = Histogram::default();
        for micros in 1..=1_000 {
            histogram.add(micros * 1_000);
        }
        for (share, want) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = histogram.quantile_micros(share);
            assert!((found - want).abs() <= want / 100.0, "{share}: {found}");
        }
        assert_eq!(histogram.over(), [0, 0, 0]);
        histogram.add(10_000_001);
        assert_eq!(histogram.over(), [1, 1, 0]);
        let mut merged = Histogram::default();
        merged.merge(&histogram);
        merged.merge(&histogram);
        assert_eq!((merged.count(), merged.over()), (2_002, [2, 2, 0]));
    }
}
