//! The attribute macros of zklock.
//!
//! Depend on the crate `zklock`, which re-exports them: the code that they generate calls into it. The entry
//! points use only `expand` and `test`. The crate `zklock` runs the examples of the attributes, because this crate
//! cannot depend on it.

mod args;
mod arguments;
mod boxed;
mod duration;
mod expand;
mod names;
mod once;
mod outliving;
mod path;
mod patterns;
mod recipe;
mod syntax;
mod target;
mod test;

use proc_macro::TokenStream;

use names::Kind;

#[cfg_attr(not(doctest), doc = include_str!("../doc/distributed_lock.md"))]
#[proc_macro_attribute]
pub fn distributed_lock(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Kind::DistributedLock, args.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../doc/leader_only.md"))]
#[proc_macro_attribute]
pub fn leader_only(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Kind::LeaderOnly, args.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../doc/test.md"))]
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    test::test(args.into(), item.into()).into()
}
