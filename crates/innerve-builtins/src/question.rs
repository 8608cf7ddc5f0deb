//! The `AskUserQuestion` tool: puts questions with a choice of answers to the person at the keyboard.

use std::collections::{BTreeMap, BTreeSet};

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many questions one call may ask.
const MAX_QUESTIONS: usize = 4;
/// How many answers a question may offer.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;
/// How long a header may be, in characters.
const MAX_HEADER: usize = 12;

/// Asks the person who takes part in the conversation.
///
/// The question is the approval itself: whoever answers fills in `answers` of the input they approve. A yes without
/// answers says that the agent may choose; a no with a comment is an answer in own words.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUserQuestionTool;

/// What the model gives to [`AskUserQuestionTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUserQuestionInput {
    /// 1 to 4 questions
    pub questions: Vec<Question>,
    /// For the user to fill in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<BTreeMap<String, String>>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = crate::schema::untitled)]
pub struct Question {
    /// In full
    pub question: String,
    /// 12 characters at most
    pub header: String,
    /// 2 to 4; the user may also answer otherwise
    pub options: Vec<Choice>,
    /// Several may be chosen
    #[serde(default, rename = "multiSelect")]
    pub multi_select: bool,
}

/// One answer that a question offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, transform = crate::schema::undescribed)]
pub struct Choice {
    /// The answer, in a few words
    pub label: String,
    /// What it means
    pub description: String,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AskUserQuestionOutput {
    /// The questions.
    pub questions: Vec<Question>,
    /// The answer to each question that was answered, by the question's text.
    pub answers: BTreeMap<String, String>,
}

impl Tool for AskUserQuestionTool {
    type Input = AskUserQuestionInput;
    type Output = AskUserQuestionOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "AskUserQuestion"
    }

    fn description(&self) -> String {
        "Asks the user to choose, when their answer changes what you do. Put the answer you would take first."
            .to_owned()
    }

    async fn call(
        &self,
        input: AskUserQuestionInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<AskUserQuestionOutput>, ToolError> {
        let AskUserQuestionInput { questions, answers } = input;
        let mut answers = answers.unwrap_or_default();
        answers.retain(|_, answer| !answer.trim().is_empty());
        Ok(ToolOutput::new(AskUserQuestionOutput { questions, answers }))
    }

    fn render(&self, output: &AskUserQuestionOutput) -> ToolResultContent {
        if output.answers.is_empty() {
            return "The user saw the questions and left the choice to you: decide, and say how you did.".into();
        }
        let mut lines = vec!["The user answered:".to_owned()];
        for question in &output.questions {
            let answer = output.answers.get(&question.question);
            let answer = answer.map_or("(no answer: decide yourself)", String::as_str);
            lines.push(format!("- {} → {answer}", question.question));
        }
        lines.join("\n").into()
    }

    async fn validate(
        &self,
        input: &AskUserQuestionInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        let invalid = |message: String| Err(ToolError::invalid(message));
        if input.questions.is_empty() || input.questions.len() > MAX_QUESTIONS {
            return invalid(format!(
                "{} questions were given; ask 1 to {MAX_QUESTIONS}",
                input.questions.len()
            ));
        }
        let mut texts = BTreeSet::new();
        for (number, question) in (1..).zip(&input.questions) {
            let Question { question: text, header, options, .. } = question;
            if text.trim().is_empty() || !texts.insert(text.as_str()) {
                return invalid(format!("question {number} is empty or asked twice"));
            }
            if header.trim().is_empty() || header.chars().count() > MAX_HEADER {
                return invalid(format!(
                    "the header of question {number} must have 1 to {MAX_HEADER} characters"
                ));
            }
            if !OPTIONS.contains(&options.len()) {
                return invalid(format!(
                    "question {number} offers {} answers; offer {} to {}",
                    options.len(),
                    OPTIONS.start(),
                    OPTIONS.end()
                ));
            }
            let labels: BTreeSet<&str> = options.iter().map(|option| option.label.trim()).collect();
            if labels.len() < options.len() || labels.contains("") {
                return invalid(format!(
                    "question {number} offers an answer twice, or an empty one"
                ));
            }
        }
        let mut answered = input.answers.iter().flatten();
        if let Some((unknown, _)) = answered.find(|(text, _)| !texts.contains(text.as_str())) {
            return invalid(format!("`{unknown}` was answered and not asked"));
        }
        Ok(())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn requires_user_interaction(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "ask the user to choose"
    }

    fn classifier_input(&self, input: &AskUserQuestionInput) -> String {
        let texts: Vec<&str> =
            input.questions.iter().map(|question| question.question.as_str()).collect();
        texts.join("\n")
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }
}
