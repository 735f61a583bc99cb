//! The results on the standard output and the messages on the standard error, for people or as JSON.

mod messages;

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use zklock::LockError;

use crate::exit::{Code, Failure};

use self::messages::{Messages, Writer};

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    form: Form,
    messages: Messages,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

impl Output {
    pub(crate) fn new(form: Form) -> Self {
        Self { form, messages: Messages::start() }
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Returns a writer for the log.
    pub(crate) fn log(&self) -> Writer {
        self.messages.writer()
    }

    /// Writes one result: a text, or one line of JSON.
    pub(crate) async fn result(&self, text: impl Display, value: &impl Serialize) -> Result<(), Failure> {
        match self.form {
            Form::Text => written(text.to_string().into_bytes()).await,
            Form::Json => self.lines([value]).await,
        }
    }

    /// Writes results as lines of JSON.
    pub(crate) async fn lines<T: Serialize>(
        &self,
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for value in values {
            serde_json::to_writer(&mut lines, &value).map_err(io::Error::from).map_err(unwritten)?;
            lines.push(b'\n');
        }
        written(lines).await
    }

    /// Tells of an event on the standard error, if it is read by a program. A failure to write it is no failure of the
    /// command, whose program must be watched all the same.
    pub(crate) fn event(&self, event: &Value) {
        if self.form == Form::Json {
            self.messages.add(format!("{event}\n"));
        }
    }

    /// Tells a person of something, or a program of the event.
    pub(crate) fn tell(&self, text: impl Display, event: &Value) {
        match self.form {
            Form::Text => self.messages.add(format!("zklock: {text}\n")),
            Form::Json => self.event(event),
        }
    }

    /// Tells that the servers did not confirm the end of a hold, and why.
    pub(crate) fn unreleased(&self, path: &str, work: &str, reason: impl Display) {
        let event = json!({"event": "unreleased", "path": path, "message": reason.to_string()});
        self.tell(format_args!("the {work} failed: {reason}"), &event);
    }

    /// Tells that a look had no answer, and that another one follows.
    pub(crate) fn unanswered(&self, error: &LockError) {
        self.tell(error, &json!({"event": "unanswered", "message": error.to_string()}));
    }

    /// Tells why the command has no result.
    pub(crate) fn fail(&self, failure: &Failure) {
        let (code, message) = (failure.code(), failure.to_string());
        let event = json!({"event": "error", "kind": code, "code": code.number(), "message": message});
        self.tell(message, &event);
    }
}

/// Writes to the standard output, all of it.
///
/// Another thread writes, so that a signal ends a command whose reader has stalled. Dropping the future leaves that
/// thread behind.
pub(crate) async fn written(result: Vec<u8>) -> Result<(), Failure> {
    let write = move || {
        let mut out = io::stdout().lock();
        out.write_all(&result).and_then(|()| out.flush())
    };
    spawn_blocking(write).await.map_err(io::Error::from).flatten().map_err(unwritten)
}

/// The reason why work at the end of a command was not done.
pub(crate) const CUT_SHORT: &str = "a signal cut it short";

fn unwritten(error: io::Error) -> Failure {
    Failure::new(Code::Output, format!("cannot write the result: {error}"))
}
