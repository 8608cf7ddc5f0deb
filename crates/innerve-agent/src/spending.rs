//! What a session has cost so far, its sub-agents included.

use std::sync::{Mutex, PoisonError};

use innerve_model::price;
use innerve_protocol::Usage;

/// Adds up tokens and dollars; shared by all agents of a session.
#[derive(Debug, Default)]
pub struct Spending(Mutex<Totals>);

#[derive(Debug, Default, Clone)]
struct Totals {
    usage: Usage,
    dollars: f64,
    unpriced: bool,
}

impl Spending {
    /// Adds one response.
    pub fn add(&self, model: &str, usage: &Usage) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.usage.add(usage);
        match price(model) {
            Some(price) => totals.dollars += price.cost(usage),
            None => totals.unpriced = true,
        }
    }

    /// All tokens.
    pub fn usage(&self) -> Usage {
        self.totals().usage
    }

    /// All dollars; `None` if the price of a model is not known.
    pub fn dollars(&self) -> Option<f64> {
        let totals = self.totals();
        (!totals.unpriced).then_some(totals.dollars)
    }

    /// The dollars of the models whose price is known.
    pub fn known_dollars(&self) -> f64 {
        self.totals().dollars
    }

    fn totals(&self) -> Totals {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
