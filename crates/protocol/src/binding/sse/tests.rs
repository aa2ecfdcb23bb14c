use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::revision::Revision;

fn frame(id: Option<&str>, name: Option<&str>, data: &str) -> Frame {
    Frame { id: id.map(Into::into), name: name.map(Into::into), data: data.into() }
}

/// Decodes `chunks` and the end of the stream.
fn decode<'a>(
    decoder: &mut Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Frame>, FrameTooLarge> {
    let mut frames = Vec::new();
    for mut chunk in chunks {
        while let Some(frame) = decoder.read(&mut chunk)? {
            frames.push(frame);
        }
        assert!(chunk.is_empty());
    }
    frames.extend(std::iter::from_fn(|| decoder.finish()));
    Ok(frames)
}

#[test]
fn frames_are_written() {
    let id = Some(Revision::new(3));
    for (head, data, want) in [
        (FrameHead::default(), &["{}"][..], "data: {}\n\n"),
        (FrameHead { id, name: Some("error") }, &["a", "b"], "id: 3\nevent: error\ndata: ab\n\n"),
        (FrameHead::default(), &["a\nb\r\nc\rd"], "data: a\ndata: b\ndata: c\ndata: d\n\n"),
        (FrameHead::default(), &["a\r", "\nb", "", "\n"], "data: a\ndata: b\ndata: \n\n"),
        (FrameHead::default(), &[], "data: \n\n"),
        (FrameHead { id: None, name: Some("x\ndata: y") }, &["z"], "event: x\ndata: z\n\n"),
        (FrameHead { id: None, name: Some("") }, &[" z"], "data:  z\n\n"),
    ] {
        let mut out = Vec::new();
        let chunks: Vec<_> = data.iter().map(|it| it.as_bytes()).collect();
        write_frame(&mut out, head, &chunks);
        assert_eq!(String::from_utf8(out).unwrap(), want, "{head:?} {data:?}");
    }
    let mut out = Vec::new();
    write_comment(&mut out, "a\nb");
    assert_eq!(out, b": a\n: b\n\n");
}

#[test]
fn unicode_line_separators_are_escaped() {
    let value = serde_json::json!({"text": "a\u{2028}b\u{2029}\u{2029}c\u{85}é “ü” \\\u{2028}"});
    let json = value.to_string();
    let mut out = Vec::new();
    write_frame(&mut out, FrameHead::default(), &[json.as_bytes(), b" ", json.as_bytes()]);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{text:?}");
    let data = text.strip_prefix("data: ").unwrap().trim_end();
    let values: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(data).into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [value.clone(), value]);
}

#[test]
fn streams_decode_identically_however_chunked() {
    for (text, want) in [
        ("", vec![]),
        ("\n\n\n", vec![]),
        ("data: a\n\n", vec![frame(None, None, "a")]),
        ("data:a\ndata:  b\ndata\n\n", vec![frame(None, None, "a\n b\n")]),
        (
            "data: a\r\n\r\ndata: b\r\rdata: c",
            vec![frame(None, None, "a"), frame(None, None, "b"), frame(None, None, "c")],
        ),
        ("\u{feff}data: a\n\n", vec![frame(None, None, "a")]),
        ("data: a\n\n\u{feff}data: b\n\n", vec![frame(None, None, "a")]),
        (": hi\n:\ndata: a\n: there\n\n: end\n\n", vec![frame(None, None, "a")]),
        (
            "id: 7\nevent: error\nfoo: x\ndata: a:b\n\n",
            vec![frame(Some("7"), Some("error"), "a:b")],
        ),
        ("id: 7\n\ndata: a\n\n", vec![frame(None, None, "a")]),
        ("id: a\0b\ndata: a\n\n", vec![frame(None, None, "a")]),
        ("event: x\nevent:\ndata: a\n\n", vec![frame(None, None, "a")]),
        ("data: héllo ✓\n\n", vec![frame(None, None, "héllo ✓")]),
        ("data: a\n\n[DONE]\n\n", vec![frame(None, None, "a"), frame(None, None, "[DONE]")]),
        ("data: a\n[DONE]", vec![frame(None, None, "a"), frame(None, None, "[DONE]")]),
        ("event: done\n\n", vec![frame(None, Some("done"), "")]),
        (" data: a\n\nDATA: b\n\n", vec![]),
    ] {
        let bytes = text.as_bytes();
        let whole = decode(&mut Decoder::new(), [bytes]).unwrap();
        assert_eq!(whole, want, "{text:?}");
        let bytewise = decode(&mut Decoder::new(), bytes.chunks(1)).unwrap();
        assert_eq!(bytewise, want, "{text:?} byte by byte");
    }
}

#[test]
fn every_end_of_stream_marker_is_recognized() {
    for text in [
        "[DONE]\n\n",
        "[DONE]",
        "data: [DONE]\n\n",
        "event: done\ndata:\n\n",
        "event: done\ndata: \n\n",
        "event: done\n\n",
        "event: done",
    ] {
        let frames = decode(&mut Decoder::new(), [text.as_bytes()]).unwrap();
        assert!(matches!(&frames[..], [frame] if frame.is_end()), "{text:?} {frames:?}");
    }
    for bytes in [DONE_EVENT, DONE_LINE] {
        let frames = decode(&mut Decoder::new(), [bytes]).unwrap();
        assert!(frames[0].is_end());
    }
    assert!(!frame(None, Some("done"), "{}").is_end());
    assert!(!frame(None, None, "").is_end());
    assert_eq!(decode(&mut Decoder::new(), [KEEP_ALIVE]), Ok(vec![]));
}

#[test]
fn last_id_is_that_of_the_last_complete_frame() {
    let mut decoder = Decoder::new();
    let feed =
        |decoder: &mut Decoder, mut text: &[u8]| while decoder.read(&mut text) != Ok(None) {};
    feed(&mut decoder, b"id: 1\ndata: a\n\nid: 2\ndata: b\n");
    assert_eq!(decoder.last_id(), Some("1"));
    feed(&mut decoder, b"\ndata: c\n\n");
    assert_eq!(decoder.last_id(), Some("2"));
    feed(&mut decoder, b"id:\n\n");
    assert_eq!(decoder.last_id(), None);
}

#[test]
fn retry_is_a_number_of_milliseconds() {
    let mut decoder = Decoder::new();
    decode(&mut decoder, [&b"retry: 1500\nretry: +3\nretry: soon\nretry\n"[..]]).unwrap();
    assert_eq!(decoder.retry(), Some(Duration::from_millis(1500)));
}

#[test]
fn non_utf8_data_is_passed_through() {
    let frames = decode(&mut Decoder::new(), [&b"event: \xff\ndata: \xff\xfe\n\n"[..]]).unwrap();
    assert_eq!(frames[0].data, b"\xff\xfe");
    assert_eq!(frames[0].name.as_deref(), Some("\u{fffd}"));
}

#[test]
fn oversized_frame_fails_the_decoder_permanently() {
    for text in
        ["data: 123456", "data: 12\ndata: 34\ndata: 56\n", ": comment.....", "id: 1234\nevent: 123"]
    {
        for size in [1, text.len()] {
            let mut decoder = Decoder::with_limit(11);
            let result = decode(&mut decoder, text.as_bytes().chunks(size));
            assert_eq!(result, Err(FrameTooLarge { limit: 11 }), "{text}");
            assert_eq!(
                decoder.read(&mut &b"\n\ndata: a\n\n"[..]),
                Err(FrameTooLarge { limit: 11 })
            );
            assert_eq!(decoder.finish(), None);
        }
    }
    let mut decoder = Decoder::with_limit(11);
    let text = "data: 12345\n\n".repeat(1000);
    assert_eq!(decode(&mut decoder, [text.as_bytes()]).unwrap().len(), 1000);
}

#[test]
fn large_frame_in_single_bytes_decodes_in_linear_time() {
    let text = format!("data: {}\n\n", "x".repeat(4 << 20));
    let frames = decode(&mut Decoder::new(), text.as_bytes().chunks(1)).unwrap();
    assert_eq!(frames[0].data.len(), 4 << 20);
    let text = "data: x\n".repeat(1 << 19);
    let frames = decode(&mut Decoder::new(), text.as_bytes().chunks(1)).unwrap();
    assert_eq!(frames[0].data.len(), (2 << 19) - 1);
}

/// Splits `bytes` at the positions that `cuts` select.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut offsets: Vec<_> = cuts.iter().map(|it| it.index(bytes.len() + 1)).collect();
    offsets.extend([0, bytes.len()]);
    offsets.sort_unstable();
    offsets.windows(2).map(|it| &bytes[it[0]..it[1]]).collect()
}

/// Returns data with the escapes that the encoder writes.
fn escape_line_separators(data: &str) -> String {
    let escapes = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    escapes
        .iter()
        .fold(data.to_owned(), |data, (character, escape)| data.replace(*character, escape))
}

proptest! {
    #[test]
    fn written_frames_round_trip_however_chunked(
        frames in prop::collection::vec(
            (any::<Option<u64>>(), "[^\r\n]{0,8}", "[^\r]{0,40}|\\PC{0,4}(\n\\PC{0,4}){0,4}"),
            0..6,
        ),
        cuts: Vec<prop::sample::Index>,
    ) {
        let (mut out, mut want) = (Vec::new(), Vec::new());
        for (id, name, data) in &frames {
            let head = FrameHead { id: id.map(Revision::new), name: Some(name) };
            let (one, two) = data.split_at(data.floor_char_boundary(data.len() / 2));
            write_frame(&mut out, head, &[one.as_bytes(), two.as_bytes()]);
            out.extend_from_slice(KEEP_ALIVE);
            let name = Some(name.as_str()).filter(|it| !it.is_empty());
            let data = escape_line_separators(data);
            want.push(frame(id.map(|it| it.to_string()).as_deref(), name, &data));
        }
        prop_assert_eq!(&decode(&mut Decoder::new(), cut(&out, &cuts)).unwrap(), &want);
        prop_assert_eq!(&decode(&mut Decoder::new(), out.chunks(1)).unwrap(), &want);
    }

    #[test]
    fn chunk_boundaries_do_not_change_decoding(
        bytes in prop::collection::vec(
            prop::sample::select(&b"data: id:\r\n\n[DONE]\xef\xbb\xbf\xff\0"[..]), 0..60),
        cuts: Vec<prop::sample::Index>,
        limit in 0..40usize,
    ) {
        let whole = decode(&mut Decoder::with_limit(limit), [&bytes[..]]);
        prop_assert_eq!(decode(&mut Decoder::with_limit(limit), cut(&bytes, &cuts)), whole);
    }
}
