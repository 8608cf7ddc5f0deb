//! What the tools for the web need of the world: a model for small questions, somebody who searches.

use std::sync::Arc;

use innerve_agent::{ProviderSearcher, QuickAnswers, Spending};
use innerve_builtins::web::SearxngSearcher;
use innerve_tool::port::{SmallModel, WebSearcher};

use crate::output::warn;
use crate::provider::Chosen;

/// Names the model that answers questions about pages and searches, in place of the session's own.
const SMALL_MODEL: &str = "INNERVE_SMALL_MODEL";
/// Names the server that searches the web.
const SEARCH_URL: &str = "INNERVE_SEARCH_URL";

/// Who answers small questions.
pub(super) fn small_model(
    chosen: &Chosen,
    spending: &Arc<Spending>,
) -> Option<Arc<dyn SmallModel>> {
    // A recording answers what it was asked when it was made; a question more would get the answer to another one.
    let own = || (chosen.model.name() != "replay").then(|| chosen.name.clone());
    let name = named(SMALL_MODEL).or_else(own)?;
    Some(Arc::new(QuickAnswers::new(Arc::clone(&chosen.model), name, Arc::clone(spending))))
}

/// Who searches the web: the provider if it can, else whom the environment names.
pub(super) fn searcher(
    chosen: &Chosen,
    spending: &Arc<Spending>,
    configured: Option<Arc<dyn WebSearcher>>,
) -> Option<Arc<dyn WebSearcher>> {
    let name = named(SMALL_MODEL).unwrap_or_else(|| chosen.name.clone());
    if !chosen.model.capabilities(&name).web_search {
        return configured;
    }
    let searcher = ProviderSearcher::new(Arc::clone(&chosen.model), name, Arc::clone(spending));
    Some(Arc::new(match configured {
        Some(configured) => searcher.with_fallback(configured),
        None => searcher.with_advice(format!(
            "with the address of a SearXNG server in {SEARCH_URL} that one would be asked"
        )),
    }))
}

/// Who searches the web where no model is, if the environment names a server.
pub(super) fn configured() -> Option<Arc<dyn WebSearcher>> {
    match SearxngSearcher::new(&named(SEARCH_URL)?) {
        Ok(searcher) => Some(Arc::new(searcher)),
        Err(error) => {
            warn(&format!("{SEARCH_URL}: {}; it is not asked", error.message()));
            None
        }
    }
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable)
        .ok()
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}
