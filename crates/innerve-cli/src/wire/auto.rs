//! The classifier of a session: who judges in mode `auto`, and in `plan` where settings do not say otherwise.

use std::sync::Arc;

use innerve_agent::{AgentClassifier, AutoModeRules, Spending, TwoStage};
use innerve_permission::Policy;

use super::{Workplace, warning_text};
use crate::output::warn;
use crate::provider::Chosen;

impl Workplace {
    /// The classifier that asks the session's own model; `None` where settings forbid it (`disableAutoMode`). The policy is
    /// told whether plans are judged too.
    pub(super) fn classifier(
        &self,
        chosen: &Chosen,
        spending: &Arc<Spending>,
        policy: &mut Policy,
    ) -> Option<AgentClassifier> {
        if self.auto_disabled {
            return None;
        }
        let (rules, odd) = AutoModeRules::of(&self.layers);
        for warning in &odd {
            warn(&warning_text(warning));
        }
        policy.classifier_available = AutoModeRules::judges_plans(&self.layers);
        let (model, name) = (Arc::clone(&chosen.model), chosen.name.clone());
        Some(AgentClassifier::new(TwoStage::new(model, name, &rules, Arc::clone(spending))))
    }
}
