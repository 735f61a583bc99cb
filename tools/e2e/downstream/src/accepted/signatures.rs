//! Generics, lifetimes, const generics, patterns, `impl Trait`, and everything else a signature may hold.

use std::fmt::Display;
use std::time::Duration;

use zklock::{Client, LockError, distributed_lock};

#[distributed_lock(path = "/opaque/{name}")]
pub async fn arguments(name: impl Display, each: impl Fn(u8) -> u8 + Send) -> std::io::Result<impl Display> {
    let name = name.to_string();
    Ok(format!("{name} {}", each(7)))
}

#[allow(unsafe_code, reason = "an attribute of the function")]
#[distributed_lock(path = "/unsafe")]
pub async unsafe fn trusted() -> Result<(), LockError> {
    Ok(())
}

#[must_use = "an attribute of the function"]
#[distributed_lock(path = format!("/either/{}", 7))]
#[cfg(panic = "unwind")]
/// A doc comment below the attribute.
async fn attributes(#[cfg(any())] gone: u8, #[cfg(panic = "unwind")] here: u8) -> Result<u8, LockError> {
    #![allow(unused_variables)]
    let unused = 7;
    tokio::task::yield_now().await;
    Ok(here)
}

#[distributed_lock(path = "/braces/{{{map[\"}\"]}}}")]
async fn braces(map: &std::collections::HashMap<&str, u8>) -> Result<usize, LockError> {
    Ok(map.len())
}

#[distributed_lock(path = "/never")]
pub async fn never() -> Result<std::convert::Infallible, LockError> {
    panic!("never returns")
}

macro_rules! moded {
    ($name:ident, $mode:ident, [$($path:expr),*]) => {
        #[distributed_lock(path = [$($path),*], mode = $mode)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

moded!(moded_write, write, ["/a", format!("/{}", 7)]);
moded!(moded_read, read, ["/a"]);

async fn key(text: &str) -> String {
    text.to_owned()
}

#[distributed_lock(path = key(&text).await)]
pub async fn awaited_part((text, mut number): (String, usize)) -> Result<usize, LockError> {
    number += text.len();
    Ok(number)
}

#[distributed_lock(
    path = "/parts/{text}",
    wait = Duration::from_secs(seconds),
    client = client,
    permits = 1,
    of = most,
    once_per = "1m",
    tick = "/ticks/{most}",
)]
pub async fn parts_everywhere(
    (text, seconds): (String, u64),
    (client, most, _): (&Client, u32, u8),
) -> Result<Option<String>, LockError> {
    Ok(Some(text))
}

#[distributed_lock(path = "/parts/{by_ref.len()}/{name}", otherwise = Ok(format!("{name}")))]
pub fn references(
    (ref by_ref, name): (String, String),
    &(ref inside, number): &(String, u8),
    (first, second): &(u8, String),
) -> Result<String, LockError> {
    Ok(format!("{by_ref}{inside}{number}{first}{second}"))
}

#[distributed_lock(path = "/numbers/{next(&mut number)}")]
pub async fn changed_by_the_path(mut number: u64) -> Result<u64, LockError> {
    Ok(next(&mut number))
}

fn next(number: &mut u64) -> u64 {
    *number += 1;
    *number
}

fn must_be_send<T: Send>(_: &T) {}
fn must_return_send<T: Send>(_: unsafe fn() -> T) {}

pub fn calls() {
    must_be_send(&arguments("a", |number| number + 1));
    must_return_send(trusted);
    must_be_send(&awaited_part((String::new(), 1)));
    must_be_send(&changed_by_the_path(1));
    must_be_send(&attributes(1));
    must_be_send(&braces(&Default::default()));
    must_be_send(&never());
    must_be_send(&moded_write());
    must_be_send(&moded_read());
}

/// Types of this crate with the names of others.
pub mod shadowing {
    use zklock::{LockError, distributed_lock};

    pub type Option<T> = core::result::Result<T, LockError>;

    #[distributed_lock(path = "/shadowing")]
    pub async fn alias() -> Option<u8> {
        Ok(7)
    }
}

/// Names in templates that are no arguments.
pub mod names {
    use zklock::{LockError, distributed_lock};

    #[allow(non_upper_case_globals)]
    const shop: &str = "a";
    static NUMBER: u64 = 7;

    fn key(id: u64) -> u64 {
        id
    }

    pub struct Shop<const FLOOR: usize>;

    impl<const FLOOR: usize> Shop<FLOOR> {
        #[distributed_lock(path = "/{FLOOR}/{N}/{self::shop.len()}/{NUMBER}/{key(id)}")]
        pub async fn constants<const N: usize>(&self, id: u64) -> Result<(), LockError> {
            Ok(())
        }
    }

    #[distributed_lock(
        path = "/{self::shop}/{[1, 2].iter().map(|one| format!(\"{one}{sho}\")).collect::<String>()}"
    )]
    pub async fn beside_an_argument_of_nearly_that_name(sho: u8) -> Result<(), LockError> {
        Ok(())
    }

    pub fn nested() {
        #[allow(non_upper_case_globals)]
        const floor: u8 = 1;

        #[distributed_lock(path = "/{u8::from(floor)}/{crate::accepted::signatures::names::shop}")]
        async fn inner(_: u8) -> Result<(), LockError> {
            Ok(())
        }

        drop(inner(7));
    }

    macro_rules! named {
        ($name:ident, $path:literal, $arg:ident, $const:ident) => {
            #[distributed_lock(path = [$path, "/{NUMBER}"])]
            pub async fn $name($arg: u8) -> Result<(), LockError> {
                #[allow(non_upper_case_globals, dead_code)]
                const $const: u8 = 7;
                Ok(())
            }
        };
    }

    named!(by_macro, "/{self::shop}/{NUMBER}/{arg}", arg, unused);
}

/// Names that a pattern binds out of view.
pub mod patterns {
    use zklock::{LockError, distributed_lock};

    macro_rules! pair {
        ($one:ident, $other:ident) => {
            ($one, $other)
        };
    }

    #[distributed_lock(path = "/x/{id}/{ids}")]
    pub async fn by_macro(pair!(id, _unused): (u64, u64), ids: u64) -> Result<u64, LockError> {
        Ok(id)
    }
}

/// A connection, which yields no items.
pub mod connection {
    use std::io::{Empty, Read, Write};

    use zklock::{LockError, distributed_lock};

    pub trait Stream: Read + Write {}

    impl Stream for Empty {}

    #[distributed_lock(path = "/connections")]
    pub async fn connect() -> Result<Box<dyn Stream>, LockError> {
        Ok(Box::new(std::io::empty()))
    }
}
