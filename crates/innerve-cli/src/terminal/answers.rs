//! Questions of the model with a choice of answers: shown with numbers, answered by a number or in own words.

use innerve_builtins::question::{AskUserQuestionInput, Question};
use innerve_pipeline::Answer;
use innerve_tool::CancellationToken;
use serde_json::{Value, json};

use super::{AtTerminal, GONE};
use crate::output::{BOLD, DIM, YELLOW, note, plain};

/// Asks each question; what the model filled in itself does not count.
pub(super) async fn ask(
    terminal: &AtTerminal,
    input: &Value,
    cancellation: &CancellationToken,
) -> Answer {
    let questions = match serde_json::from_value::<AskUserQuestionInput>(input.clone()) {
        Ok(input) => input.questions,
        Err(error) => return Answer::Unavailable(format!("the questions cannot be read: {error}")),
    };
    let mut answers = serde_json::Map::new();
    for question in &questions {
        show(question);
        terminal.keyboard.forget().await;
        let answer = loop {
            let line = tokio::select! {
                line = terminal.keyboard.line() => line,
                () = cancellation.cancelled() => return Answer::Interrupted,
            };
            let Some(line) = line else { return Answer::Unavailable(GONE.to_owned()) };
            match understand(&line, question) {
                Ok(answer) => break answer,
                Err(problem) => note(&problem),
            }
        };
        answers.insert(question.question.clone(), Value::String(answer));
    }
    let mut edited = input.clone();
    if let Some(fields) = edited.as_object_mut() {
        fields.insert("answers".to_owned(), json!(answers));
    }
    Answer::Allow { remember: None, edited: Some(edited) }
}

fn show(question: &Question) {
    note(&format!("{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#}", plain(&question.question)));
    for (index, choice) in question.options.iter().enumerate() {
        let description = plain(&choice.description);
        note(&format!(
            "  {BOLD}{}{BOLD:#} {}  {DIM}{description}{DIM:#}",
            index + 1,
            plain(&choice.label)
        ));
    }
    let how = if question.multi_select { "numbers, such as 1,3" } else { "a number" };
    note(&format!("  {DIM}type {how}, or an answer of your own{DIM:#}"));
}

/// A number, or several where that is asked for, is the label; other text is an answer in own words.
fn understand(line: &str, question: &Question) -> Result<String, String> {
    let text = line.trim();
    if text.is_empty() {
        return Err("Please type a number or an answer.".to_owned());
    }
    let parts: Vec<&str> = text.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let Ok(numbers) = parts.iter().map(|part| part.parse::<usize>()).collect::<Result<Vec<_>, _>>()
    else {
        return Ok(text.to_owned());
    };
    if numbers.len() > 1 && !question.multi_select {
        return Err("Please choose one.".to_owned());
    }
    let labels = numbers.iter().map(|number| {
        let choice = number.checked_sub(1).and_then(|index| question.options.get(index));
        choice
            .map(|choice| choice.label.clone())
            .ok_or_else(|| format!("There is no answer {number}."))
    });
    Ok(labels.collect::<Result<Vec<_>, _>>()?.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

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
