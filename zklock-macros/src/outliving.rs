//! Refuses outputs with work in them that would be done after the lock has been released or the term has ended.

use syn::{
    Error, GenericArgument, Result, ReturnType, Type, TypeImplTrait as ImplTrait, TypeParamBound, TypePath,
    TypeTraitObject as TraitObject,
};

use crate::names::Kind;
use crate::syntax::{generics, ungroup_type};

/// Refuses an output that holds futures, a stream, tasks or the handle of one, by its name.
pub(super) fn check_output(output: &ReturnType, body: Body, kind: Kind) -> Result<()> {
    let ReturnType::Type(_, ty) = output else { return Ok(()) };
    let refused = |(at, work): (&Type, Work)| Err(Error::new_spanned(at, work.refusal(body, kind.then())));
    work_in(ty).map_or(Ok(()), refused)
}

/// Whether a function can await in its body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Async,
    Sync,
}

/// Work that has not been done when the function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Future,
    /// A set of futures.
    Futures,
    Stream,
    Task,
    /// A set of tasks.
    Tasks,
}

impl Work {
    fn refusal(self, body: Body, then: &str) -> String {
        let (what, instead) = match (self, body) {
            (Self::Future, Body::Async) => {
                ("the future in this return type", "await it in the body, and return its output")
            }
            (Self::Future, Body::Sync) => (
                "the future that this function returns",
                "make it an `async fn`, or put the attribute on one that it calls",
            ),
            (Self::Futures, _) => {
                ("the futures in this set", "await them in the body, and return their outputs")
            }
            (Self::Stream, _) => {
                ("the stream in this return type", "read it in the body, and return its items")
            }
            (Self::Task, _) => ("the task behind this handle", "await or join it in the body"),
            (Self::Tasks, _) => ("the tasks in this set", "join them in the body"),
        };
        format!("{what} would not {then}\n{instead}")
    }
}

/// Finds the first type with work in it, inside of the types that only pass their contents on.
fn work_in(ty: &Type) -> Option<(&Type, Work)> {
    let ty = ungroup_type(ty);
    let inside = match ty {
        Type::Array(array) => work_in(&array.elem),
        Type::Slice(slice) => work_in(&slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(work_in),
        Type::Path(ty) => contents(ty).find_map(work_in),
        _ => None,
    };
    work_of(ty).map(|work| (ty, work)).or(inside)
}

/// Tells which work a type is, by its name.
fn work_of(ty: &Type) -> Option<Work> {
    let path = match ty {
        Type::ImplTrait(ImplTrait { bounds, .. }) | Type::TraitObject(TraitObject { bounds, .. }) => {
            return bounds.iter().find_map(work_of_bound);
        }
        Type::Path(ty) => ty,
        _ => return None,
    };
    let (last, first) = (path.path.segments.last()?, &path.path.segments[0]);
    let is_associated = path.qself.is_some() || path.path.segments.len() == 2 && first.ident == "Self";
    match last.ident.to_string().as_str() {
        "BoxFuture" | "LocalBoxFuture" | "JoinAll" | "TryJoinAll" => Some(Work::Future),
        "Future" if is_associated => Some(Work::Future),
        "FuturesOrdered" | "FuturesUnordered" => Some(Work::Futures),
        "BoxStream" | "LocalBoxStream" => Some(Work::Stream),
        "AbortHandle" | "AbortOnDropHandle" | "JoinHandle" | "RemoteHandle" | "ScopedJoinHandle" => {
            Some(Work::Task)
        }
        "JoinMap" | "JoinQueue" | "JoinSet" | "TaskTracker" => Some(Work::Tasks),
        _ => None,
    }
}

fn work_of_bound(bound: &TypeParamBound) -> Option<Work> {
    let TypeParamBound::Trait(bound) = bound else { return None };
    let is_item =
        |argument: &GenericArgument| matches!(argument, GenericArgument::AssocType(ty) if ty.ident == "Item");
    match bound.path.segments.last()?.ident.to_string().as_str() {
        "Future" => Some(Work::Future),
        // The user may give this name to a connection, which has no items.
        "Stream" if generics(&bound.path).any(is_item) => Some(Work::Stream),
        _ => None,
    }
}

/// Returns the contents of `Result<T, _>` and of containers. The error of a `Result` does no work.
fn contents(ty: &TypePath) -> impl Iterator<Item = &Type> {
    let last = ty.path.segments.last();
    let passed_on = match last.map(|last| last.ident.to_string()).as_deref() {
        Some("Result" | "Option" | "Box" | "Pin" | "Arc" | "Rc" | "Mutex" | "Vec" | "VecDeque") => 1,
        Some("HashMap" | "BTreeMap") => 2,
        _ => 0,
    };
    let types = generics(&ty.path).filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.take(passed_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: Option<Work>) {
        let ty = syn::parse_str(output).unwrap();
        assert_eq!(work_in(&ty).map(|(_, work)| work), expected, "{output}");
    }

    #[test]
    fn work_is_found_in_what_passes_it_on() {
        check("impl Future<Output = R> + Send", Some(Work::Future));
        check("impl Send + ::core::future::Future<Output = R>", Some(Work::Future));
        check("Pin<Box<impl Future<Output = R>>>", Some(Work::Future));
        check("std::pin::Pin<Box<(dyn Future<Output = R> + Send)>>", Some(Work::Future));
        check("Box<dyn Future<Output = R> + Unpin>", Some(Work::Future));
        check("futures::future::BoxFuture<'_, R>", Some(Work::Future));
        check("Result<impl Future<Output = u8>, E>", Some(Work::Future));
        check("io::Result<Pin<Box<dyn Future<Output = u8> + Send>>>", Some(Work::Future));
        check("Result<BoxFuture<'static, u8>, E>", Some(Work::Future));
        check("Self::Future", Some(Work::Future));
        check("<S as Service<R>>::Future", Some(Work::Future));
        check("Result<impl Stream<Item = u8>, E>", Some(Work::Stream));
        check("Result<Option<BoxStream<'_, u8>>, E>", Some(Work::Stream));
        check("Result<tokio::task::JoinHandle<()>, E>", Some(Work::Task));
        check("Result<(u8, Vec<JoinHandle<()>>), E>", Some(Work::Task));
        check("Result<[JoinHandle<()>; 2], E>", Some(Work::Task));
        check("Result<HashMap<u64, tokio::task::AbortHandle>, E>", Some(Work::Task));
        check("Option<AbortOnDropHandle<()>>", Some(Work::Task));
        check("Result<tokio::task::JoinSet<u8>, E>", Some(Work::Tasks));
        check("Result<Option<(u8, Vec<TaskTracker>)>, E>", Some(Work::Tasks));
        check("Result<FuturesUnordered<F>, E>", Some(Work::Futures));
        check("Result<Box<FuturesOrdered<F>>, E>", Some(Work::Futures));
    }

    #[test]
    fn other_types_do_no_work() {
        for output in [
            "R",
            "Result<Box<dyn Error>, E>",
            "impl Iterator<Item = Future>",
            "Pin<Box<T>>",
            "Result<(), E>",
            "Result<impl Iterator<Item = u8>, E>",
            "Result<u8, JoinHandle<()>>",
            "Result<Jobs<JoinHandle<()>>, E>",
            "Result<u8, JoinSet<()>>",
            "HashMap<u64, (), JoinHandle<()>>",
            "Result<Future, E>",
            "Result<shop::Future, E>",
            "Result<JoinError, E>",
            "Result<Box<dyn Stream>, E>",
            "impl Stream<u8>",
        ] {
            check(output, None);
        }
    }
}
