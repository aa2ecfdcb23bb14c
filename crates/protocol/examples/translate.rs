//! Reads an A2A call of any version from standard input and prints it in every version.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "the example prints its result")]

use std::error::Error;
use std::io::{self, Read};

use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::binding::jsonrpc::{Call, write_call};
use latimer_protocol::{Dialect, MessageId, Request, TaskId, Version};

fn main() -> Result<(), Box<dyn Error>> {
    let mut body = Vec::new();
    io::stdin().read_to_end(&mut body)?;
    // A real program would generate a random id.
    let new_id = || MessageId::new("new-message").expect("valid id");
    let call = Call::read(&body, None, VersionPolicy::Lenient, &new_id)?;
    for version in Version::ALL {
        let dialect = Dialect::over_jsonrpc(version);
        let mut request = call.request.clone();
        if let (true, Request::SendMessage(it)) = (dialect.clients_assign_task_ids(), &mut request)
        {
            it.message.task_id.get_or_insert(TaskId::new("new-task")?);
        }
        match write_call(dialect, &call.id, &request) {
            Ok(written) => println!("{version} {}", String::from_utf8(written)?),
            Err(error) => println!("{version} {error}"),
        }
    }
    Ok(())
}
