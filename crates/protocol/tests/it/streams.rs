//! Whole streams: events in envelopes in frames, cut into any pieces.

use latimer_protocol::binding::{jsonrpc, sse};
use latimer_protocol::{
    Dialect, EventWriter, GetTaskRequest, Request, Revision, StreamResponse, Then, Version,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

use crate::arbitrary::{event, task_id};
use crate::carried::Wire;

fn write(dialect: Dialect, id: &jsonrpc::Id<'_>, events: &[StreamResponse]) -> Vec<u8> {
    let task = "t".parse::<latimer_protocol::TaskId>().expect("an id");
    let request = Request::GetTask(GetTaskRequest::from(task));
    let mut writer = EventWriter::new(dialect, &request, None);
    let envelope = jsonrpc::Envelope::new(id);
    let mut stream = Vec::new();
    for (number, event) in (1..).zip(events) {
        let head = sse::Head { id: Some(Revision::new(number)), name: None };
        for payload in writer.write(event, Then::Continues).expect("an event") {
            sse::write(&mut stream, head, &envelope.around(&payload));
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
            let stream = write(dialect, &id, &events);
            let mut decoder = sse::Decoder::new();
            let mut read = Vec::new();
            let mut rest = stream.as_slice();
            for size in sizes.iter().cycle() {
                let (mut piece, behind) = rest.split_at(rest.len().min(*size));
                rest = behind;
                while let Some(frame) = decoder.read(&mut piece).unwrap() {
                    read.push(frame);
                }
                if rest.is_empty() {
                    break;
                }
            }
            read.extend(std::iter::from_fn(|| decoder.finish()));
            prop_assert_eq!(read.len(), events.len());
            for (number, (frame, event)) in read.iter().zip(&events).enumerate() {
                prop_assert_eq!(frame.id.clone(), Some((number + 1).to_string()));
                let response = jsonrpc::Response::read(&frame.data).unwrap();
                prop_assert_eq!(response.answers(&id), true);
                let payload = response.payload(Version::V1_0).unwrap();
                let event = Wire::Json(dialect).event(event.clone());
                prop_assert_eq!(dialect.read_event(payload).unwrap(), event);
            }
        }
    }
}
