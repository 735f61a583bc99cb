//! The functions, annotated and with calls written by hand. Uses no other module.

/// The way in which a function takes its lock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Style {
    Annotated,
    ByHand,
}

impl Style {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Annotated => "annotated",
            Self::ByHand => "by-hand",
        }
    }

    /// Returns the source of a crate with this many functions.
    pub(super) fn text(self, functions: usize) -> String {
        let mut text = HEAD.to_owned();
        for number in 0..functions {
            let kind = &KINDS[number % KINDS.len()];
            let function = match self {
                Self::Annotated => kind.annotated,
                Self::ByHand => kind.by_hand,
            };
            text += &function.replace("NUMBER", &number.to_string());
        }
        // The compiler generates the code of a future only if something polls it.
        text +=
            "pub fn all() -> Vec<Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>>> {\n    vec![";
        let calls = (0..functions).map(|number| format!("Box::pin(function_{number}(1, 2)), "));
        text + &calls.collect::<String>() + "]\n}\n"
    }
}

/// A function in both styles, which does the same in both.
struct Kind {
    annotated: &'static str,
    by_hand: &'static str,
}

/// The file's first lines. Both crates have the same, so that only the functions differ.
const HEAD: &str = r#"#![allow(unused_imports)]
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use zklock::{LockError, Member, distributed_lock, leader_only};

async fn work(id: u64) -> Result<u64, LockError> {
    std::future::ready(()).await;
    Ok(id)
}
"#;

/// Half of the functions take a mutex.
const KINDS: [Kind; 6] = [MUTEX, GUARDED, READER, MUTEX, GROUP, LEADER];

const MUTEX: Kind = Kind {
    annotated: r#"
#[distributed_lock(path = "/orders/{id}", wait = "5s")]
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let sum = work(id).await? + work(other).await?;
    work(sum).await
}
"#,
    by_hand: r#"
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let mutex = zklock::client()?.mutex(format!("/orders/{id}"))?;
    let guard = mutex.lock_timeout(Duration::from_secs(5)).await?;
    let body = async move {
        let sum = work(id).await? + work(other).await?;
        work(sum).await
    };
    let outcome = guard.run(body).await;
    guard.release().await?;
    outcome?
}
"#,
};

const GUARDED: Kind = Kind {
    annotated: r#"
#[distributed_lock(path = "/ledgers/{id}", guard = held)]
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    held.set_data(&format!("/balances/{other}"), "7").await?;
    work(held.fencing_token().zxid()).await
}
"#,
    by_hand: r#"
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let mutex = zklock::client()?.mutex(format!("/ledgers/{id}"))?;
    let guard = mutex.lock().await?;
    let held = &guard;
    let body = async move {
        held.set_data(&format!("/balances/{other}"), "7").await?;
        work(held.fencing_token().zxid()).await
    };
    let outcome = guard.run(body).await;
    guard.release().await?;
    outcome?
}
"#,
};

const READER: Kind = Kind {
    annotated: r#"
#[distributed_lock(path = "/prices/{id}", mode = read, wait = "5s")]
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    work(id + other).await
}
"#,
    by_hand: r#"
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let lock = zklock::client()?.rwlock(format!("/prices/{id}"))?;
    let guard = lock.read_timeout(Duration::from_secs(5)).await?;
    let outcome = guard.run(async move { work(id + other).await }).await;
    guard.release().await?;
    outcome?
}
"#,
};

const GROUP: Kind = Kind {
    annotated: r#"
#[distributed_lock(path = ["/accounts/{id}", "/accounts/{other}"], wait = "5s")]
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    work(id + other).await
}
"#,
    by_hand: r#"
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let paths = [format!("/accounts/{id}"), format!("/accounts/{other}")];
    let locks = zklock::client()?.multi(paths.map(Member::mutex))?;
    let guard = locks.lock_timeout(Duration::from_secs(5)).await?;
    let outcome = guard.run(async move { work(id + other).await }).await;
    guard.release().await?;
    outcome?
}
"#,
};

const LEADER: Kind = Kind {
    annotated: r#"
#[leader_only(path = "/leader", otherwise = error)]
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    work(id + other).await
}
"#,
    by_hand: r#"
pub async fn function_NUMBER(id: u64, other: u64) -> Result<u64, LockError> {
    let leader = zklock::leader("/leader")?;
    let Some(term) = leader.term().await? else { return Ok(0) };
    term.run(async move { work(id + other).await }).await?
}
"#,
};
