//! Complete streams: events in envelopes in frames, split at arbitrary positions.

use latimer_protocol::binding::{jsonrpc, sse};
use latimer_protocol::{
    Dialect, EventWriter, Finality, GetTaskRequest, Request, Revision, StreamResponse, Version,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

use crate::arbitrary::{event, task_id};
use crate::field_coverage::Wire;

fn write_stream(dialect: Dialect, id: &jsonrpc::Id<'_>, events: &[StreamResponse]) -> Vec<u8> {
    let task = "t".parse::<latimer_protocol::TaskId>().expect("valid id");
    let request = Request::GetTask(GetTaskRequest::from(task));
    let mut writer = EventWriter::new(dialect, &request, None);
    let envelope = jsonrpc::Envelope::new(id);
    let mut stream = Vec::new();
    for (revision, event) in (1..).zip(events) {
        let head = sse::FrameHead { id: Some(Revision::new(revision)), name: None };
        for payload in writer.write(event, Finality::More) {
            sse::write_frame(&mut stream, head, &envelope.wrap(&payload));
        }
        sse::write_comment(&mut stream, "still here");
    }
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn events_survive_arbitrary_splitting(
        events in vec(event(), 1..4),
        sizes in vec(1..40usize, 1..20),
        name in task_id(),
        number in any::<u64>(),
        by_name in any::<bool>(),
    ) {
        let id = if by_name { jsonrpc::Id::from(name.as_str()) } else { jsonrpc::Id::from(number) };
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let stream = write_stream(dialect, &id, &events);
            let mut decoder = sse::Decoder::new();
            let mut read = Vec::new();
            let mut remaining = stream.as_slice();
            for size in sizes.iter().cycle() {
                let (mut chunk, tail) = remaining.split_at(remaining.len().min(*size));
                remaining = tail;
                while let Some(frame) = decoder.read(&mut chunk).unwrap() {
                    read.push(frame);
                }
                if remaining.is_empty() {
                    break;
                }
            }
            read.extend(std::iter::from_fn(|| decoder.finish()));
            prop_assert_eq!(read.len(), events.len());
            for (number, (frame, event)) in read.iter().zip(&events).enumerate() {
                prop_assert_eq!(frame.id.clone(), Some((number + 1).to_string()));
                let response = jsonrpc::Response::read(&frame.data).unwrap();
                prop_assert_eq!(response.matches_request(&id), true);
                let payload = response.result(Version::V1_0).unwrap();
                let event = Wire::Json(dialect).event(event.clone());
                prop_assert_eq!(dialect.read_event(payload).unwrap(), event);
            }
        }
    }
}
