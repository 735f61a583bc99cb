//! The attribute macros of zklock.
//!
//! Depend on the crate `zklock`, which re-exports them: the code that they generate calls into it. The entry
//! points use only `expand` and `test`. The crate `zklock` runs the examples of the attributes, because this crate
//! cannot depend on it.

mod args;
mod arguments;
mod blocking;
mod bound;
mod boxed;
mod duration;
mod erased;
mod errors;
mod expand;
mod grouped;
mod kind;
mod leader;
mod mode;
mod names;
mod on_lost;
mod once;
mod otherwise;
mod outliving;
mod path;
mod reading;
mod recipe;
mod shared;
mod target;
mod test;
mod wait;

use proc_macro::TokenStream;

#[cfg_attr(not(doctest), doc = include_str!("../doc/distributed_lock.md"))]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::distributed_lock(args.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../doc/leader_only.md"))]
#[proc_macro_attribute]
pub fn leader_only(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::leader_only(args.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../doc/test.md"))]
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test::test(args.into(), item.into()).into()
}
