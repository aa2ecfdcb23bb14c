//! Integers within the exact range of a double, which all JSON parsers preserve.

use serde_json::Number;

/// Largest integer that a double represents exactly, 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Returns whether `number` is an integer beyond the exact range of a double.
pub(crate) fn is_unsafe_integer(number: &Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|it| it > MAX_SAFE_INTEGER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_beyond_double_precision_are_unsafe() {
        for (number, is_unsafe) in [
            (json!(MAX_SAFE_INTEGER), false),
            (json!(MAX_SAFE_INTEGER + 1), true),
            (json!(-9_007_199_254_740_991_i64), false),
            (json!(-9_007_199_254_740_992_i64), true),
            (json!(u64::MAX), true),
            (json!(1e300), false),
        ] {
            assert_eq!(number.as_number().map(is_unsafe_integer), Some(is_unsafe), "{number}");
        }
    }
}
