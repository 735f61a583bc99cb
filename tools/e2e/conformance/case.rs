use std::future::Future;
use std::pin::Pin;

use libtest_mimic::Trial;

use crate::server::{Kind, Server};

type Run = for<'a> fn(&'a Server) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A behaviour that every kind of server must show.
pub(crate) struct Case {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    pub(crate) run: Run,
}

/// Lists the cases of a module.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[crate::case::Case] = &[
            $(crate::case::Case {
                module: module_path!(),
                name: stringify!($name),
                run: |server| Box::pin($name(server)),
            }),+
        ];
    };
}
pub(crate) use cases;

impl Case {
    pub(crate) fn on(&self, kind: Kind) -> Trial {
        let theme = self.module.rsplit("::").next().unwrap_or(self.module);
        let run = self.run;
        Trial::test(format!("{kind}::{theme}::{}", self.name), move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let server = Server::of_case(kind).await;
                run(&server).await;
            });
            Ok(())
        })
    }
}
