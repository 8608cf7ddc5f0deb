//! What the tests share: a context, a permit, and small tools.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use innerve_permission::facts::Place;
use innerve_permission::{
    Approval, ApprovedBy, CallFacts, PermissionMode, Permit, Policy, Preview, Voices, judge,
};
use innerve_protocol::{SessionId, ToolResultContent, ToolUseId};
use innerve_tool::{
    CallContext, CancellationToken, DynTool, Reporter, SessionView, Silent, Tool, ToolBuilder,
    ToolError, ToolOutput, erase,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The context of a call in `/repo`.
pub(crate) fn context() -> CallContext {
    let id = ToolUseId::new("call_1");
    CallContext {
        tool_use_id: id.clone(),
        cwd: PathBuf::from("/repo"),
        cancellation: CancellationToken::new(),
        progress: Reporter::new(id, Arc::new(Silent)),
        session: Arc::new(SessionView {
            session_id: SessionId::new("session"),
            agent_id: None,
            depth: 0,
            mode: PermissionMode::Default,
            original_cwd: PathBuf::from("/repo"),
            additional_directories: Vec::new(),
            home: PathBuf::from("/home/user"),
            tools: Vec::new(),
        }),
    }
}

/// A permit for a call, given by a person.
pub(crate) fn permit(tool: &str, input: Value) -> Permit {
    let policy = Policy { headless: false, ..Policy::new("/repo", "/home/user") };
    let judgement = judge(&policy, CallFacts::new(tool, input), &Voices::default());
    judgement.approve(Approval { by: ApprovedBy::Person, preview: None }).unwrap()
}

/// A tool that answers with its name.
pub(crate) fn named(name: &str) -> Arc<dyn DynTool> {
    let answer = name.to_owned();
    ToolBuilder::new(name, json!({ "type": "object" }))
        .build(move |_, _| {
            let answer = answer.clone();
            async move { Ok(answer.as_str().into()) }
        })
        .unwrap()
}

/// A tool that takes `I` and does nothing with it.
pub(crate) struct Idle<I> {
    name: &'static str,
    aliases: &'static [&'static str],
    enabled: bool,
    facts: fn(&str, &Value) -> CallFacts,
    input: PhantomData<fn(I)>,
}

impl<I: DeserializeOwned + JsonSchema + Send + 'static> Idle<I> {
    pub(crate) fn new(name: &'static str) -> Self {
        let facts = |name: &str, input: &Value| CallFacts::new(name, input.clone());
        Self { name, aliases: &[], enabled: true, facts, input: PhantomData }
    }

    /// It had these names once.
    pub(crate) fn once(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Whether it is offered.
    pub(crate) fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }

    /// It states these facts, whatever its name is.
    pub(crate) fn stating(self, facts: fn(&str, &Value) -> CallFacts) -> Self {
        Self { facts, ..self }
    }

    pub(crate) fn erased(self) -> Arc<dyn DynTool> {
        erase(self).unwrap()
    }
}

impl<I: DeserializeOwned + JsonSchema + Send + 'static> Tool for Idle<I> {
    type Input = I;
    type Output = ();
    type Progress = ();

    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
    fn description(&self) -> String {
        String::new()
    }
    fn is_enabled(&self) -> bool {
        self.enabled
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        (self.facts)(self.name, input)
    }
    async fn call(
        &self,
        _: I,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<()>, ToolError> {
        Ok(ToolOutput::new(()))
    }
    fn render(&self, (): &()) -> ToolResultContent {
        "done".into()
    }
}
