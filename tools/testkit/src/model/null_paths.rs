//! The answers to requests whose path is null, which are those that ZooKeeper's code happens to give.

use super::reads::Reading;
use super::{ConnectionId, Model};
use crate::wire::{ErrorCode, NullPath, Response};

impl Model {
    pub(super) fn answer_null_path(
        &mut self,
        connection: ConnectionId,
        request: NullPath,
    ) -> Result<Response, ErrorCode> {
        let identities = self.identities(connection);
        let (tree, watches) = (&self.tree, &mut self.watches);
        let mut reading = Reading { tree, watches, connection, identities: &identities };
        match request {
            NullPath::AddWatch(mode) => reading.add_null_watch(mode),
            NullPath::CheckWatches(kind) => reading.check_null_watches(kind),
            NullPath::RemoveWatches(kind) => reading.remove_null_watches(kind),
            NullPath::Sync => Ok(Response::NullPath),
            NullPath::GetEphemerals => Ok(Response::Ephemerals(self.ephemerals_below(connection, ""))),
            NullPath::SetData | NullPath::SetAcl => {
                self.next_txn();
                Err(ErrorCode::BAD_ARGUMENTS)
            }
            NullPath::Check => Err(ErrorCode::UNIMPLEMENTED),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::model::{Message, Output, Settings};
    use crate::wire::{Request, WatcherType};

    fn ask(model: &mut Model, connection: ConnectionId, request: NullPath) -> Vec<Output> {
        model.request(connection, 1, Request::NullPath(request), Duration::ZERO);
        model.take_outputs()
    }

    fn error(outputs: &[Output]) -> ErrorCode {
        match outputs {
            [Output::Send(_, Message::Reply(header, _)), ..] => header.error,
            _ => panic!("no reply: {outputs:?}"),
        }
    }

    #[test]
    fn a_null_path_is_answered_as_since_39() {
        let mut model = Model::new(Settings::default(), Duration::ZERO);
        let connection = model.open(Ipv4Addr::LOCALHOST.into());
        model.open_session(connection, Duration::from_secs(4), Duration::ZERO);
        model.take_outputs();
        let kinds = [WatcherType::ANY, WatcherType::PERSISTENT, WatcherType::CHILDREN];
        for (kind, found) in kinds.into_iter().zip([ErrorCode::OK, ErrorCode::OK, ErrorCode::NO_WATCHER]) {
            let requests = [NullPath::CheckWatches(kind), NullPath::RemoveWatches(kind)];
            for request in requests {
                assert_eq!(
                    error(&ask(&mut model, connection, request)),
                    ErrorCode::NO_WATCHER,
                    "{request:?}"
                );
            }
            ask(&mut model, connection, NullPath::AddWatch(0));
            for request in requests {
                assert_eq!(error(&ask(&mut model, connection, request)), found, "{request:?}");
            }
            ask(&mut model, connection, NullPath::RemoveWatches(WatcherType::ANY));
        }
        let outputs = ask(&mut model, connection, NullPath::Check);
        assert_eq!(error(&outputs), ErrorCode::UNIMPLEMENTED);
        assert_eq!(outputs.last(), Some(&Output::Close(connection)));
    }
}
