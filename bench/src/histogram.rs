//! Latency histogram of bounded size.

/// Counts of durations in buckets less than one percent wide, with the exact maximum.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
    exceeded: [u64; THRESHOLDS.len()],
}

/// Thresholds in nanoseconds (5, 10 and 20 ms) for [`Histogram::exceeded`].
const THRESHOLDS: [u64; 3] = [5_000_000, 10_000_000, 20_000_000];

/// Binary logarithm of the number of buckets per power of two.
const SUB_BUCKET_BITS: u32 = 7;

impl Histogram {
    /// Adds one duration.
    pub fn record(&mut self, nanos: u64) {
        let index = bucket_index(nanos);
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, 0);
        }
        self.buckets[index] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
        for (exceeded, threshold) in self.exceeded.iter_mut().zip(THRESHOLDS) {
            *exceeded += u64::from(nanos > threshold);
        }
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (own, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += others;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
        for (own, others) in self.exceeded.iter_mut().zip(other.exceeded) {
            *own += others;
        }
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the maximum in microseconds.
    #[must_use]
    pub fn max_micros(&self) -> f64 {
        micros(self.max)
    }

    /// Returns how many durations are longer than 5, 10 and 20 ms.
    #[must_use]
    pub fn exceeded(&self) -> [u64; 3] {
        self.exceeded
    }

    /// Returns a quantile in microseconds; `quantile` is between 0 and 1. 0 for an empty histogram.
    #[must_use]
    pub fn quantile_micros(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return micros(bucket_midpoint(index).min(self.max));
            }
        }
        micros(self.max)
    }
}

fn bucket_index(nanos: u64) -> usize {
    let bits = u64::BITS - nanos.leading_zeros();
    let shift = bits.saturating_sub(SUB_BUCKET_BITS + 1);
    ((u64::from(shift) << SUB_BUCKET_BITS) + (nanos >> shift)) as usize
}

/// Returns the middle of a bucket in nanoseconds.
fn bucket_midpoint(index: usize) -> u64 {
    let (index, step) = (index as u64, 1u64 << SUB_BUCKET_BITS);
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
    fn bucket_width_is_below_one_percent() {
        for nanos in [0, 1, 127, 128, 255, 256, 1_000, 99_999, 1_234_567, 20_000_001, u64::MAX / 2]
        {
            let midpoint = bucket_midpoint(bucket_index(nanos));
            let error = midpoint.abs_diff(nanos) as f64;
            assert!(error <= nanos as f64 / 128.0, "{nanos} was recorded as {midpoint}");
        }
    }

    #[test]
    fn quantiles_match_recorded_values() {
        let mut histogram = Histogram::default();
        for micros in 1..=1_000 {
            histogram.record(micros * 1_000);
        }
        for (quantile, want) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let actual = histogram.quantile_micros(quantile);
            assert!((actual - want).abs() <= want / 100.0, "{quantile}: {actual}");
        }
        assert_eq!(histogram.exceeded(), [0, 0, 0]);
        histogram.record(10_000_001);
        assert_eq!(histogram.exceeded(), [1, 1, 0]);
        let mut merged = Histogram::default();
        merged.merge(&histogram);
        merged.merge(&histogram);
        assert_eq!((merged.count(), merged.exceeded()), (2_002, [2, 2, 0]));
    }
}
