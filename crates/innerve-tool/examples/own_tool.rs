//! A tool of one's own: what a model is told of it, what it accepts, and how strict it is when nothing is claimed.
//!
//! `cargo run -p innerve-tool --example own_tool`

use std::error::Error;
use std::io::{self, Write as _};

use innerve_permission::Preview;
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput, ToolPool, ToolSources, erase};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Finds out how often a word occurs in a text.
struct CountWord;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The text to search.
    text: String,
    /// The word to count.
    word: String,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
}

impl Tool for CountWord {
    type Input = Input;
    type Output = usize;
    type Progress = ();

    fn name(&self) -> &'static str {
        "CountWord"
    }

    fn description(&self) -> String {
        "Counts how often a word occurs in a text.".to_owned()
    }

    /// What a schema cannot say.
    async fn validate(&self, input: &Input, _: &CallContext) -> Result<(), ToolError> {
        if input.word.contains(char::is_whitespace) {
            return Err(ToolError::invalid("`word` must be one word"));
        }
        Ok(())
    }

    async fn call(
        &self,
        input: Input,
        _: Option<Preview>,
        _: CallContext<()>,
    ) -> Result<ToolOutput<usize>, ToolError> {
        let same = |word: &&str| {
            *word == input.word || input.ignore_case && word.eq_ignore_ascii_case(&input.word)
        };
        Ok(ToolOutput::new(input.text.split_whitespace().filter(same).count()))
    }

    fn render(&self, count: &usize) -> ToolResultContent {
        format!("{count} times").into()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let tool = erase(CountWord)?;
    writeln!(out, "what a model is sent:\n{:#}", serde_json::to_value(tool.definition())?)?;

    for input in [json!({ "text": "a b a", "word": "a" }), json!({ "txt": "a b a", "word": 1 })] {
        match tool.parse(input.clone()) {
            Ok(parsed) => writeln!(out, "{input}\n  taken as {parsed}")?,
            Err(issues) => {
                writeln!(out, "{input}")?;
                for issue in issues {
                    writeln!(out, "  {issue}")?;
                }
            }
        }
    }

    // Nothing was claimed, so it is strict: a writer that runs alone. It claims less only by saying so.
    let input = json!({ "text": "a b a", "word": "a" });
    writeln!(out, "reads only: {}", tool.is_read_only(&input))?;
    writeln!(out, "beside others: {}", tool.is_concurrency_safe(&input))?;

    let pool = ToolPool::assemble(ToolSources { builtins: vec![tool], mcp: vec![] }, |_| false);
    writeln!(out, "a model can use: {}", pool.names().join(", "))?;
    // Who wants to run it needs a permit: that is the work of innerve-pipeline.
    Ok(())
}
