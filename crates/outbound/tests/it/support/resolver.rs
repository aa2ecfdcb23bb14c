//! Resolver with configured results, which can differ between lookups.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

use async_trait::async_trait;
use latimer_outbound::Resolve;

/// Results of each name, one per lookup; the last one repeats.
#[derive(Debug, Default)]
pub(crate) struct StubResolver {
    responses: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    lookups: Mutex<Vec<String>>,
}

impl StubResolver {
    pub(crate) fn set(&self, name: &str, responses: &[&[&str]]) {
        let addresses = |it: &&[&str]| it.iter().map(|it| it.parse().expect(it)).collect();
        let responses = responses.iter().map(addresses).collect();
        self.responses.lock().unwrap().insert(name.to_owned(), responses);
    }

    /// Returns the number of lookups of a name.
    pub(crate) fn lookup_count(&self, name: &str) -> usize {
        self.lookups.lock().unwrap().iter().filter(|it| *it == name).count()
    }
}

#[async_trait]
impl Resolve for StubResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.lookups.lock().unwrap().push(name.to_owned());
        let mut responses = self.responses.lock().unwrap();
        let responses = responses.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let response = if responses.len() > 1 { responses.remove(0) } else { responses[0].clone() };
        Ok(response)
    }
}
