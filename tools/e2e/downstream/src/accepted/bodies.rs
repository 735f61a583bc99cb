//! Bodies keep the meaning that they have without the attribute, which triggers no additional lint.

use std::sync::Arc;

use zklock::{Client, LockError, distributed_lock};

type Outcome<T = ()> = Result<T, LockError>;

#[derive(Debug)]
pub struct Receipt(pub u64);

#[distributed_lock(path = "/shadowing")]
pub async fn shadowing() -> Outcome<Receipt> {
    use self::Receipt as Outer;
    struct Receipt;
    let Receipt = Receipt;
    Ok(Outer(7))
}

#[distributed_lock(path = "/recursive/{depth}")]
pub async fn recursive(depth: u8) -> Outcome<u8> {
    if depth == 0 { Ok(0) } else { Box::pin(recursive(depth - 1)).await }
}

#[distributed_lock(path = "/generic")]
pub async fn generic<E: From<LockError> + From<std::num::ParseIntError>>(text: &str) -> Result<u64, E> {
    Ok(text.trim().parse()?)
}

#[distributed_lock(path = "/clients", client = client)]
pub async fn shared_client(client: Arc<Client>) -> Outcome<Arc<Client>> {
    Ok(client)
}

#[distributed_lock(path = "/clients", client = "reporting")]
pub async fn named_client(r#type: &str, _unused: String) -> Outcome<usize> {
    Ok(r#type.len())
}

#[distributed_lock(path = "/parts")]
pub async fn parts(pair: (String, Receipt)) -> Outcome<Receipt> {
    drop(pair.0);
    Ok(pair.1)
}

#[distributed_lock(path = "/boxed")]
pub async fn boxed(text: &str) -> Outcome<Box<dyn Iterator<Item = impl std::fmt::Display> + Send + '_>> {
    Ok(Box::new(text.chars()))
}

macro_rules! outcome {
    ($ty:ty) => { Result<$ty, LockError> };
}

#[distributed_lock(path = "/macros")]
pub async fn by_macro() -> outcome!(u8) {
    Ok(7)
}

macro_rules! locked {
    ($item:item) => {
        #[distributed_lock(path = "/items")]
        $item
    };
}

locked! {
    pub async fn item(number: u8) -> Outcome<u8> { Ok(number) }
}

#[distributed_lock(path = "/bridge/{id}")]
pub fn bridge(id: u64, runtime: &tokio::runtime::Runtime) -> Outcome<u64> {
    let body = async { id + 1 };
    Ok(runtime.block_on(body))
}
