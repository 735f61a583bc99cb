//! The conversation of a client with the server over one connection, which determines the kind of each frame.

use std::collections::VecDeque;

use bytes::Bytes;

use super::rule::Kind;
use crate::wire::{
    ConnectRequest, ConnectResponse, ErrorCode, Malformed, Opcode, Reader, Record, ReplyHeader,
    RequestHeader, xid,
};

/// The requests of one connection that wait for their replies.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Whether the client has requested a session.
    has_greeted: bool,
    pending: VecDeque<Asked>,
}

/// The properties that identify a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) opcode: Opcode,
    /// The number; `None` for the request for a session.
    xid: Option<i32>,
}

impl Conversation {
    /// Decodes a frame from the client.
    pub(super) fn hear_client(&mut self, body: &Bytes) -> Result<Asked, Malformed> {
        if !self.has_greeted {
            ConnectRequest::from_bytes(body.clone())?;
            self.has_greeted = true;
            return Ok(Asked { opcode: Opcode::CREATE_SESSION, xid: None });
        }
        let RequestHeader { xid, opcode } = RequestHeader::read(&mut Reader::new(body.clone()))?;
        Ok(Asked { opcode, xid: Some(xid) })
    }

    /// Remembers a request that the server will answer.
    pub(super) fn expect(&mut self, asked: Asked) {
        self.pending.push_back(asked);
    }

    /// Decodes a frame from the server. Returns its kind, and the session in the answer to the request for one, which is
    /// zero if the session has expired.
    pub(super) fn hear_server(&mut self, body: &Bytes) -> Result<(Kind, Option<i64>), Malformed> {
        if let Some(Asked { opcode, xid: None }) = self.pending.front().copied() {
            let response = ConnectResponse::from_bytes(body.clone())?;
            self.pending.pop_front();
            return Ok((Kind::Reply(opcode), Some(response.session_id)));
        }
        let header = ReplyHeader::read(&mut Reader::new(body.clone()))?;
        let kind = match header.xid {
            xid::NOTIFICATION => Kind::Notification,
            xid => match self.answered(xid) {
                Some(opcode) if header.error != ErrorCode::OK => Kind::Refusal(opcode),
                Some(opcode) if tells_of_a_node(opcode, body) => Kind::Created(opcode),
                Some(opcode) => Kind::Reply(opcode),
                None => Kind::Unasked,
            },
        };
        Ok((kind, None))
    }

    /// Forgets the oldest request with this number. Pings and some other requests share a number.
    fn answered(&mut self, xid: i32) -> Option<Opcode> {
        let position = self.pending.iter().position(|asked| asked.xid == Some(xid))?;
        self.pending.remove(position).map(|asked| asked.opcode)
    }
}

/// Returns whether the reply to a request with this opcode, which succeeded, tells of a new node.
fn tells_of_a_node(opcode: Opcode, body: &[u8]) -> bool {
    // Behind the header of the reply, the answer to a transaction has the opcode of its first step, or -1.
    const FIRST: std::ops::Range<usize> = 16..20;
    const CREATES: [Opcode; 3] = [Opcode::CREATE, Opcode::CREATE2, Opcode::CREATE_CONTAINER];
    let first = body.get(FIRST).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    match opcode {
        Opcode::MULTI => first.is_some_and(|first| CREATES.contains(&Opcode(first))),
        opcode => opcode == Opcode::CREATE2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect_request() -> Bytes {
        ConnectRequest::default().to_bytes()
    }

    fn connect_response(session_id: i64) -> Bytes {
        ConnectResponse { session_id, ..ConnectResponse::default() }.to_bytes()
    }

    fn request(xid: i32, opcode: Opcode) -> Bytes {
        RequestHeader { xid, opcode }.to_bytes()
    }

    fn reply(xid: i32) -> Bytes {
        ReplyHeader { xid, zxid: 0, error: ErrorCode::OK }.to_bytes()
    }

    /// Returns a conversation with an open session and these requests under way.
    fn asked(requests: &[(i32, Opcode)]) -> Conversation {
        let mut conversation = Conversation::default();
        let session = conversation.hear_client(&connect_request()).unwrap();
        conversation.expect(session);
        assert_eq!(
            conversation.hear_server(&connect_response(7)),
            Ok((Kind::Reply(Opcode::CREATE_SESSION), Some(7)))
        );
        for &(xid, opcode) in requests {
            let asked = conversation.hear_client(&request(xid, opcode)).unwrap();
            assert_eq!(asked, Asked { opcode, xid: Some(xid) });
            conversation.expect(asked);
        }
        conversation
    }

    #[test]
    fn replies_are_known_by_the_oldest_request_with_their_number() {
        let requests = [
            (1, Opcode::CREATE),
            (xid::PING, Opcode::PING),
            (2, Opcode::MULTI),
            (xid::SET_WATCHES, Opcode::SET_WATCHES2),
            (2, Opcode::DELETE),
        ];
        let mut conversation = asked(&requests);
        let expected = [
            (1, Kind::Reply(Opcode::CREATE)),
            (xid::NOTIFICATION, Kind::Notification),
            (2, Kind::Reply(Opcode::MULTI)),
            (xid::PING, Kind::Reply(Opcode::PING)),
            (xid::SET_WATCHES, Kind::Reply(Opcode::SET_WATCHES2)),
            (2, Kind::Reply(Opcode::DELETE)),
            (2, Kind::Unasked),
        ];
        for (xid, kind) in expected {
            assert_eq!(conversation.hear_server(&reply(xid)), Ok((kind, None)), "{xid}");
        }
    }

    #[test]
    fn a_reply_with_an_error_is_a_refusal() {
        let mut conversation = asked(&[(1, Opcode::CREATE)]);
        let refusal = ReplyHeader { xid: 1, zxid: 0, error: ErrorCode::NO_NODE }.to_bytes();
        let said = conversation.hear_server(&refusal);
        assert_eq!(said, Ok((Kind::Refusal(Opcode::CREATE), None)));
    }

    #[test]
    fn a_request_that_was_not_expected_has_no_reply() {
        let mut conversation = asked(&[]);
        conversation.hear_client(&request(1, Opcode::CREATE)).unwrap();
        assert_eq!(conversation.hear_server(&reply(1)), Ok((Kind::Unasked, None)));
    }

    #[test]
    fn frames_without_a_header_are_malformed() {
        let mut silent = Conversation::default();
        assert!(silent.hear_client(&request(1, Opcode::CREATE)).is_err());
        let mut conversation = asked(&[]);
        assert!(conversation.hear_client(&Bytes::from_static(&[0; 7])).is_err());
        assert!(conversation.hear_server(&Bytes::from_static(&[0; 15])).is_err());
        let session = silent.hear_client(&connect_request()).unwrap();
        silent.expect(session);
        assert!(silent.hear_server(&reply(1)).is_err());
    }

    #[test]
    fn a_transaction_tells_of_a_node_if_it_begins_with_a_create() {
        let answer = |first: Opcode| [&[0; 16][..], &first.0.to_be_bytes()].concat();
        for (first, expected) in
            [(Opcode::CREATE_CONTAINER, true), (Opcode::CHECK, false), (Opcode(-1), false)]
        {
            assert_eq!(tells_of_a_node(Opcode::MULTI, &answer(first)), expected, "{first}");
        }
        assert!(!tells_of_a_node(Opcode::MULTI, &[0; 16]) && tells_of_a_node(Opcode::CREATE2, &[0; 16]));
    }
}
