//! Building of request lines.

use std::fmt::Write;

use http::Method;

use super::encoding::encode;
use super::{Route, param_names};
use crate::error::{Error, ErrorKind};
use crate::json::InvalidField;

impl Route {
    /// Returns the HTTP method, and the path and query relative to the URL of the interface. Ids
    /// are encoded so that [`Route::find`] restores them exactly.
    ///
    /// Some servers accept a subscription only by GET. Clients retry with GET if POST returns 405.
    ///
    /// ```
    /// # use {http::Method, latimer_protocol::{Operation, Version, binding::rest::Route}};
    /// let mut route = Route::new(Operation::GetTask, Version::V1_0);
    /// route.task_id = Some("a/b:cancel".to_owned());
    /// route.query.push(("historyLength".to_owned(), "2".to_owned()));
    /// let (method, target) = route.request_line()?;
    /// assert_eq!(method, Method::GET);
    /// assert_eq!(target, "/tasks/a%2Fb%3Acancel?historyLength=2");
    /// # Ok::<(), latimer_protocol::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::UnsupportedOperation`] if the version has no path for the operation.
    /// Returns [`ErrorKind::InvalidParams`] if a task id or configuration id is missing or is `.`
    /// or `..`, which URL normalization would remove.
    pub fn request_line(&self) -> Result<(Method, String), Error> {
        let Some((method, template)) = self.operation.route(self.version) else {
            let message = format!("{:?} has no HTTP route in A2A {}", self.operation, self.version);
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        };
        let (task_param, config_param) = param_names(self.operation);
        let mut target = String::new();
        let tenant = self.tenant.as_deref().unwrap_or_default();
        for segment in tenant.split('/').filter(|_| !tenant.is_empty()) {
            push_segment(&mut target, "tenant", segment, "")?;
        }
        for part in template.split('/').skip(1) {
            if let Some(suffix) = part.strip_prefix("{id}") {
                let id = self.task_id.as_deref().unwrap_or_default();
                push_segment(&mut target, task_param, id, suffix)?;
            } else if part == "{config}" {
                let id = self.config_id.as_deref().unwrap_or_default();
                push_segment(&mut target, config_param, id, "")?;
            } else {
                target.push('/');
                target.push_str(part);
            }
        }
        for (index, (name, value)) in self.query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            // Writing to a string cannot fail.
            let _ = write!(target, "{}={}", encode(name), encode(value));
        }
        Ok((method, target))
    }
}

fn push_segment(
    target: &mut String,
    name: &str,
    segment: &str,
    suffix: &str,
) -> Result<(), InvalidField> {
    match segment {
        "" => return Err(InvalidField::missing(name)),
        "." | ".." => return Err(InvalidField::new(name, "cannot be used in a URL")),
        _ => {}
    }
    // Writing to a string cannot fail.
    let _ = write!(target, "/{}{suffix}", encode(segment));
    Ok(())
}
