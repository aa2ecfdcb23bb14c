//! Maintenance jobs.
fn main() {}
