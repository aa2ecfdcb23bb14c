//! Names that mean what a test says, and something else the next time if it says so.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

use async_trait::async_trait;
use latimer_outbound::Resolve;

/// For each name, its answers one after the other; the last one stays.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn set(&self, name: &str, answers: &[&[&str]]) {
        let addresses = |it: &&[&str]| it.iter().map(|it| it.parse().expect(it)).collect();
        let answers = answers.iter().map(addresses).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
    }

    /// How often somebody asked for a name.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|it| *it == name).count()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answers = answers.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Ok(answer)
    }
}
