//! Text from callers, agents and configuration, made fit for messages and logs.

/// Returns the first `max_chars` characters of `text` that are not control characters.
///
/// ```
/// assert_eq!(latimer_protocol::truncate_for_display("red\u{1b}[31m and more", 7), "red[31m");
/// ```
#[must_use]
pub fn truncate_for_display(text: &str, max_chars: usize) -> String {
    text.chars().filter(|it| !it.is_control()).take(max_chars).collect()
}

/// Returns `url` without its query and fragment, which may contain secrets.
///
/// ```
/// assert_eq!(latimer_protocol::redact_query("https://a.example/x?key=s3cret"), "https://a.example/x");
/// ```
#[must_use]
pub fn redact_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
