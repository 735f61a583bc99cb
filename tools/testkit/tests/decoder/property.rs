//! The properties of every sequence of bytes, shared by the tests and the fuzz target.

use std::net::Ipv4Addr;
use std::time::Duration;

use bytes::Bytes;
use zklock_testkit::model::{Message, Model, Output, Settings};
use zklock_testkit::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Malformed, Opcode, Reader, Record, ReplyHeader, Request,
    RequestHeader, Response, WatchEvent, Writer, xid,
};

/// The kind of a frame, which its bytes do not show. An input begins with the number of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    ConnectRequest = 0,
    Request = 1,
    ConnectResponse = 2,
    /// Begins with the opcode of the request that it answers.
    Reply = 3,
    /// Frames of one connection, each behind its length in two bytes.
    Connection = 4,
}

impl Kind {
    pub(crate) fn of(number: u8) -> Self {
        let all = [Self::ConnectRequest, Self::Request, Self::ConnectResponse, Self::Reply, Self::Connection];
        all[usize::from(number) % all.len()]
    }
}

/// Decodes the input. If that succeeds, the value is encoded and decoded again, and must stay the same.
pub(crate) fn check(input: &[u8]) {
    let Some((&kind, rest)) = input.split_first() else {
        return;
    };
    let frame = Bytes::copy_from_slice(rest);
    // An input that cannot be decoded only has to return an error.
    let _ = match Kind::of(kind) {
        Kind::Connection => {
            converse(rest);
            Ok(Bytes::new())
        }
        kind => round_trip(kind, &frame),
    };
}

/// Decodes a frame, checks that its content survives an encoding, and returns that encoding.
pub(crate) fn round_trip(kind: Kind, frame: &Bytes) -> Result<Bytes, Malformed> {
    match kind {
        Kind::ConnectRequest => twice(frame, ConnectRequest::from_bytes, Record::to_bytes),
        Kind::ConnectResponse => twice(frame, ConnectResponse::from_bytes, Record::to_bytes),
        Kind::Request => twice(frame, read_request, write_request),
        Kind::Reply => twice(frame, read_reply, write_reply),
        Kind::Connection => Ok(frame.clone()),
    }
}

fn twice<T: PartialEq + std::fmt::Debug>(
    frame: &Bytes,
    read: impl Fn(Bytes) -> Result<T, Malformed>,
    write: impl Fn(&T) -> Bytes,
) -> Result<Bytes, Malformed> {
    let decoded = read(frame.clone())?;
    let encoded = write(&decoded);
    assert_eq!(read(encoded.clone()).as_ref(), Ok(&decoded));
    Ok(encoded)
}

pub(crate) fn read_request(frame: Bytes) -> Result<(RequestHeader, Request), Malformed> {
    let mut reader = Reader::new(frame);
    let header = RequestHeader::read(&mut reader)?;
    Ok((header, Request::read(header.opcode, &mut reader)?))
}

fn write_request((header, request): &(RequestHeader, Request)) -> Bytes {
    let mut writer = Writer::default();
    header.write(&mut writer);
    request.write(&mut writer);
    writer.finish()
}

#[derive(Debug, PartialEq)]
enum Body {
    Response(Response),
    Event(WatchEvent),
    Failure,
}

type Reply = (Opcode, ReplyHeader, Body);

fn read_reply(frame: Bytes) -> Result<Reply, Malformed> {
    let mut reader = Reader::new(frame);
    let opcode = Opcode::read(&mut reader)?;
    let header = ReplyHeader::read(&mut reader)?;
    let body = match (header.xid, header.error) {
        (xid::NOTIFICATION, _) => Body::Event(WatchEvent::from_bytes(reader.rest())?),
        (_, ErrorCode::OK) => Body::Response(Response::from_bytes(opcode, reader.rest())?),
        _ => reader.end().map(|()| Body::Failure)?,
    };
    Ok((opcode, header, body))
}

fn write_reply((opcode, header, body): &Reply) -> Bytes {
    let mut writer = Writer::default();
    writer.int(opcode.0);
    header.write(&mut writer);
    match body {
        Body::Response(response) => response.write(&mut writer),
        Body::Event(event) => event.write(&mut writer),
        Body::Failure => {}
    }
    writer.finish()
}

/// Cuts a connection into frames. The last one may be shorter than its length.
pub(crate) fn frames(mut rest: &[u8]) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (frame, after) = after.split_at(length.min(after.len()));
        rest = after;
        Some(Bytes::copy_from_slice(frame))
    })
}

/// Lets a server take the frames of a connection until one has no header.
fn converse(input: &[u8]) {
    let mut model = Model::new(Settings::default(), Duration::ZERO);
    let connection = model.open(Ipv4Addr::LOCALHOST.into());
    model.open_session(connection, Duration::from_secs(4), Duration::ZERO);
    model.take_outputs();
    for (frame, millis) in frames(input).zip(0..) {
        let mut reader = Reader::new(frame);
        let Ok(header) = RequestHeader::read(&mut reader) else {
            break;
        };
        let now = Duration::from_millis(millis);
        match Request::read(header.opcode, &mut reader) {
            Ok(request) => model.request(connection, header.xid, request, now),
            Err(_) => model.malformed(connection, header, now),
        }
        model.take_outputs().iter().for_each(|output| can_be_sent(header.opcode, output));
    }
    // Ephemeral nodes are deleted with the session, and the remaining nodes can be looked up.
    model.advance(Duration::from_secs(100));
    assert!(model.ephemerals().is_empty() && model.sessions().is_empty());
    for path in model.paths() {
        assert!(model.node(&path).is_some(), "{path:?}");
    }
}

/// Checks that a client can decode the server's output for such a request.
fn can_be_sent(opcode: Opcode, output: &Output) {
    match output {
        Output::Send(_, Message::Reply(header, response)) if header.error == ErrorCode::OK => {
            let mut writer = Writer::default();
            response.write(&mut writer);
            assert_eq!(Response::from_bytes(opcode, writer.finish()).as_ref(), Ok(response));
        }
        Output::Send(_, Message::Event(_, event)) => {
            assert_eq!(WatchEvent::from_bytes(event.to_bytes()).as_ref(), Ok(event));
        }
        _ => {}
    }
}
