//! What the tools for the web need of the world: a model for small questions, a server that searches.

use std::sync::Arc;

use innerve_agent::{QuickAnswers, Spending};
use innerve_builtins::web::SearxngSearcher;
use innerve_model::Model;
use innerve_tool::port::{SmallModel, WebSearcher};

use crate::output::warn;

/// Names the model that answers questions about pages.
const SMALL_MODEL: &str = "INNERVE_SMALL_MODEL";
/// Names the server that searches the web.
const SEARCH_URL: &str = "INNERVE_SEARCH_URL";

/// Who answers small questions, if the environment names a model for them.
pub(super) fn small_model(
    model: &Arc<dyn Model>,
    spending: &Arc<Spending>,
) -> Option<Arc<dyn SmallModel>> {
    let name = named(SMALL_MODEL)?;
    Some(Arc::new(QuickAnswers::new(Arc::clone(model), name, Arc::clone(spending))))
}

/// Who searches the web, if the environment names a server.
pub(super) fn searcher() -> Option<Arc<dyn WebSearcher>> {
    match SearxngSearcher::new(&named(SEARCH_URL)?) {
        Ok(searcher) => Some(Arc::new(searcher)),
        Err(error) => {
            warn(&format!("{SEARCH_URL}: {}; there is no WebSearch", error.message()));
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
