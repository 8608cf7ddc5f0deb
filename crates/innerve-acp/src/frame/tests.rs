//! What is said arrives as it was, and what is no frame is refused.

use std::os::unix::ffi::OsStringExt as _;

use super::*;

async fn back(bytes: &[u8]) -> io::Result<Option<Frame>> {
    let mut from = bytes;
    let frame = read(&mut from, MAX_PIECE).await;
    assert!(frame.is_err() || from.is_empty(), "all of it is read");
    frame
}

fn order() -> Order {
    let request = ProcessRequest {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), "printf 'a\0b\n'; : \"é\"".to_owned()],
        cwd: OsString::from_vec(b"/tmp/\xff".to_vec()).into(),
        env: vec![("A".to_owned(), "1\n".to_owned())],
        env_remove: vec!["B*".to_owned()],
        tool_use: None,
    };
    Order::new(&request, &[("PATH".into(), OsString::from_vec(b"/\xfe\xff=".to_vec()))])
}

#[tokio::test]
async fn what_is_written_is_read() {
    let frames = [
        Frame::Hello(b"word".to_vec()),
        Frame::Order(Box::new(order())),
        Frame::Started(None),
        Frame::Started(Some(u32::MAX)),
        Frame::Failed(Some(2), "no such file".to_owned()),
        Frame::Failed(None, String::new()),
        Frame::Output(StdStream::Out, b"a\0\xff\r\n".to_vec()),
        Frame::Output(StdStream::Err, vec![b'x'; MAX_PIECE]),
        Frame::Output(StdStream::Out, Vec::new()),
        Frame::Ended(ExitStatus::Code(-1)),
        Frame::Ended(ExitStatus::Signal(9)),
        Frame::Kill,
    ];
    for frame in frames {
        assert_eq!(back(&frame.encode().unwrap()).await.unwrap(), Some(frame));
    }
    assert_eq!(back(b"").await.unwrap(), None);
}

#[test]
fn i6_an_order_arrives_byte_for_byte() {
    let (request, inherited) = order().into_parts();
    assert_eq!(Order::new(&request, &inherited), order());
}

#[tokio::test]
async fn a_frame_that_breaks_off_is_an_error_wherever_it_does() {
    let whole = Frame::Failed(Some(2), "no such file".to_owned()).encode().unwrap();
    for end in 1..whole.len() {
        let error = back(&whole[..end]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}");
    }
}

#[tokio::test]
async fn i8_what_is_too_long_or_no_frame_is_refused_unread() {
    for bytes in [&b"o\xff\xff\xff\xff"[..], b"r\x00\x01\x00\x01", b"?\0\0\0\0", b"k\0\0\0\x01a"] {
        let error = back(bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
    }
    for bytes in [&b"x\0\0\0\x03abc"[..], b"s\0\0\0\x01a", b"f\0\0\0\x01a", b"r\0\0\0\x02{}"] {
        assert!(back(bytes).await.is_err(), "{bytes:?}");
    }
    let long = Frame::Output(StdStream::Out, vec![0; MAX_PIECE + 1]);
    assert_eq!(long.encode().unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    let failed = Frame::Failed(None, "x".repeat(MAX_PIECE)).encode().unwrap();
    assert_eq!(failed.len(), MAX_PIECE + 5);
}
