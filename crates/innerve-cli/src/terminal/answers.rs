//! Questions of the model with a choice of answers: shown with numbers, answered by a number or in own words.

use std::collections::VecDeque;

use innerve_builtins::question::{AskUserQuestionInput, Question};
use innerve_pipeline::Answer;
use serde_json::{Map, Value};

use super::Heard;
use crate::output::{BOLD, DIM, YELLOW, plain};

/// The questions, and the answers so far.
#[derive(Debug)]
pub(super) struct Answers {
    input: Value,
    questions: VecDeque<Question>,
    given: Map<String, Value>,
}

impl Answers {
    /// Reads the questions; what the model filled in itself does not count.
    pub(super) fn read(input: Value) -> Result<Self, Answer> {
        match serde_json::from_value::<AskUserQuestionInput>(input.clone()) {
            Ok(read) => Ok(Self { input, questions: read.questions.into(), given: Map::new() }),
            Err(error) => {
                Err(Answer::Unavailable(format!("the questions cannot be read: {error}")))
            }
        }
    }

    /// The question that is next.
    pub(super) fn asks(&self) -> Vec<String> {
        self.questions.front().map(show).unwrap_or_default()
    }

    /// Takes a line as the answer to it.
    pub(super) fn hear(&mut self, line: &str) -> Heard {
        if let Some(question) = self.questions.front() {
            match understand(line, question) {
                Ok(answer) => {
                    self.given.insert(question.question.clone(), Value::String(answer));
                    self.questions.pop_front();
                }
                Err(problem) => return Heard::Again(problem),
            }
        }
        if !self.questions.is_empty() {
            return Heard::Next;
        }
        let mut edited = self.input.clone();
        if let Some(fields) = edited.as_object_mut() {
            fields.insert("answers".to_owned(), Value::Object(std::mem::take(&mut self.given)));
        }
        Heard::Answer(Answer::Allow { remember: None, edited: Some(edited) })
    }
}

fn show(question: &Question) -> Vec<String> {
    let mut lines =
        vec![format!("{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#}", plain(&question.question))];
    for (index, choice) in question.options.iter().enumerate() {
        let description = plain(&choice.description);
        lines.push(format!(
            "  {BOLD}{}{BOLD:#} {}  {DIM}{description}{DIM:#}",
            index + 1,
            plain(&choice.label)
        ));
    }
    let how = if question.multi_select { "numbers, such as 1,3" } else { "a number" };
    lines.push(format!("  {DIM}type {how}, or an answer of your own{DIM:#}"));
    lines
}

/// A number, or several where that is asked for, is the label; other text is an answer in own words.
fn understand(line: &str, question: &Question) -> Result<String, &'static str> {
    let text = line.trim();
    if text.is_empty() {
        return Err("Please type a number or an answer.");
    }
    let parts: Vec<&str> = text.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let Ok(numbers) = parts.iter().map(|part| part.parse::<usize>()).collect::<Result<Vec<_>, _>>()
    else {
        return Ok(text.to_owned());
    };
    if numbers.len() > 1 && !question.multi_select {
        return Err("Please choose one.");
    }
    let labels = numbers.iter().map(|number| {
        let choice = number.checked_sub(1).and_then(|index| question.options.get(index));
        choice.map(|choice| choice.label.clone()).ok_or("There is no answer of that number.")
    });
    Ok(labels.collect::<Result<Vec<_>, _>>()?.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_question_is_asked_and_all_answers_come_back_together() {
        let ask = |text: &str| {
            json!({ "question": text, "header": "H", "multiSelect": false,
                "options": [{ "label": "Yes", "description": "" }, { "label": "No", "description": "" }] })
        };
        let input =
            json!({ "questions": [ask("One?"), ask("Two?")], "answers": { "One?": "forged" } });
        let mut answers = Answers::read(input).unwrap();
        assert!(answers.asks()[0].contains("One?"));
        assert!(matches!(answers.hear("7"), Heard::Again(_)));
        assert!(matches!(answers.hear("1"), Heard::Next));
        assert!(answers.asks()[0].contains("Two?"));
        let Heard::Answer(Answer::Allow { edited: Some(edited), .. }) = answers.hear("maybe")
        else {
            panic!("an answer")
        };
        assert_eq!(edited["answers"], json!({ "One?": "Yes", "Two?": "maybe" }));
    }

    #[test]
    fn a_number_is_the_label_and_other_text_is_an_answer() {
        let mut question: Question = serde_json::from_value(json!({
            "question": "Which?", "header": "Kind", "multiSelect": false,
            "options": [{ "label": "Red", "description": "" }, { "label": "Blue", "description": "" }],
        }))
        .unwrap();
        assert_eq!(understand(" 2 ", &question), Ok("Blue".to_owned()));
        assert_eq!(understand("green, please", &question), Ok("green, please".to_owned()));
        assert!(understand("3", &question).is_err());
        assert!(understand("0", &question).is_err());
        assert!(understand("1,2", &question).is_err());
        assert!(understand("", &question).is_err());
        question.multi_select = true;
        assert_eq!(understand("1, 2", &question), Ok("Red, Blue".to_owned()));
    }
}
