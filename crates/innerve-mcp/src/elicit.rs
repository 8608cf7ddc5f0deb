//! Elicitation: what a server wants to know of the person while it works, asked through the approver.
//!
//! The approver is asked as for the tool `AskUserQuestion`, which every host that can show a question knows: the questions
//! are put into its input, and the answers come back in it. Nothing is answered that no person has answered.

use innerve_permission::{Decision, Reason, ReasonKind, Resolution, Verdict};
use innerve_pipeline::{Answer, ApprovalRequest, Approver};
use innerve_tool::CancellationToken;
use serde_json::{Map, Value, json};

/// Fields of one form at most.
const MAX_FIELDS: usize = 20;
/// Characters of what a server writes that a person is shown.
const MAX_CHARS: usize = 2_000;
/// Choices of one field at most.
const MAX_CHOICES: usize = 50;
/// Times that a person may answer one question in a way that does not fit.
const MAX_TRIES: usize = 3;

/// How a person met the request (Model Context Protocol, "Elicitation").
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Elicited {
    /// They filled the form in.
    Accepted(Map<String, Value>),
    /// They said no.
    Declined,
    /// Nobody answered.
    Cancelled,
}

/// Asks for what `params` of `elicitation/create` want.
pub(crate) async fn elicit(
    approver: &dyn Approver,
    server: &str,
    params: &Value,
    cancellation: &CancellationToken,
) -> Elicited {
    let asker = Asker { approver, server, cancellation };
    match asker.elicit(params).await {
        Ok(content) => Elicited::Accepted(content),
        Err(other) => other,
    }
}

struct Asker<'a> {
    approver: &'a dyn Approver,
    server: &'a str,
    cancellation: &'a CancellationToken,
}

impl Asker<'_> {
    async fn elicit(&self, params: &Value) -> Result<Map<String, Value>, Elicited> {
        let text = |field: &str| params.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut message = shown(text("message"));
        let url = text("url");
        let yes = if url.is_empty() { "Answer" } else { "Done" };
        if !url.is_empty() {
            message =
                format!("{message} Open this address yourself, if you trust it: {}", shown(url));
        }
        let fields = fields(params);
        if fields.len() > MAX_FIELDS {
            return Err(Elicited::Declined);
        }
        let question = format!("The MCP server `{}` asks: {message}", shown(self.server));
        let options = [(yes, "go on"), ("Decline", "tell the server nothing")];
        if self
            .ask(&question, &options.map(|(label, what)| (label.to_owned(), what.to_owned())))
            .await?
            != yes
        {
            return Err(Elicited::Declined);
        }
        let mut content = Map::new();
        for field in fields {
            if let Some(value) = self.field(&field).await? {
                content.insert(field.name.clone(), value);
            }
        }
        Ok(content)
    }

    /// Asks for one field until the answer fits it.
    async fn field(&self, field: &Field) -> Result<Option<Value>, Elicited> {
        let mut problem = String::new();
        for _ in 0..MAX_TRIES {
            let question = format!("{problem}{}", field.question());
            let answer = self.ask(&question, &field.options()).await?;
            match field.read(&answer) {
                Ok(value) => return Ok(value),
                Err(wanted) => problem = format!("That does not fit: {wanted}. "),
            }
        }
        Err(Elicited::Cancelled)
    }

    async fn ask(&self, question: &str, options: &[(String, String)]) -> Result<String, Elicited> {
        let options: Vec<Value> = options
            .iter()
            .map(|(label, description)| json!({ "label": label, "description": description }))
            .collect();
        let input = json!({ "questions": [
            { "question": question, "header": "MCP", "options": options, "multiSelect": false }
        ] });
        let request = ApprovalRequest {
            tool_use_id: "elicitation".into(),
            tool: "AskUserQuestion".to_owned(),
            input,
            resolution: resolution(self.server),
            preview: None,
            agent: None,
            needs_person: true,
        };
        match self.approver.ask(request, self.cancellation.clone()).await {
            Answer::Allow { edited: Some(edited), .. } => edited
                .get("answers")
                .and_then(|answers| answers.get(question))
                .and_then(Value::as_str)
                .map(|answer| answer.trim().to_owned())
                .ok_or(Elicited::Cancelled),
            Answer::Deny { .. } => Err(Elicited::Declined),
            Answer::Allow { edited: None, .. } | Answer::Unavailable(_) | Answer::Interrupted => {
                Err(Elicited::Cancelled)
            }
        }
    }
}

fn resolution(server: &str) -> Resolution {
    Resolution {
        verdict: Verdict::Decided(Decision::Ask),
        reason: Reason {
            kind: ReasonKind::Default,
            rule: None,
            source: None,
            file: None,
            line: None,
            code: "mcp_elicitation".to_owned(),
            message: format!("the MCP server `{server}` asks for it"),
        },
        parts: Vec::new(),
        trace: Vec::new(),
        suggestions: Vec::new(),
    }
}

/// A field of the form that a server asks for.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    title: String,
    description: String,
    kind: Kind,
    required: bool,
    default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Number {
        whole: bool,
    },
    YesNo,
    /// Values with their titles.
    One(Vec<(String, String)>),
    Several(Vec<(String, String)>),
}

fn fields(params: &Value) -> Vec<Field> {
    let schema = params.get("requestedSchema").unwrap_or(&Value::Null);
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(name, schema): (&String, &Value)| {
        let text = |key: &str| shown(schema.get(key).and_then(Value::as_str).unwrap_or_default());
        let choices = choices(schema);
        let kind = match text("type").as_str() {
            "boolean" => Kind::YesNo,
            "integer" => Kind::Number { whole: true },
            "number" => Kind::Number { whole: false },
            "array" => Kind::Several(self::choices(schema.get("items").unwrap_or(&Value::Null))),
            _ if !choices.is_empty() => Kind::One(choices),
            _ => Kind::Text,
        };
        Field {
            name: name.clone(),
            title: if text("title").is_empty() { shown(name) } else { text("title") },
            description: text("description"),
            kind,
            required: required.iter().any(|item| item.as_str() == Some(name)),
            default: schema.get("default").cloned(),
        }
    };
    properties.into_iter().flatten().map(field).collect()
}

/// Values with titles: `enum` with or without `enumNames`, or `oneOf`/`anyOf` of constants.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names = list("enumNames");
    let plain = list("enum").iter().enumerate().filter_map(|(index, value)| {
        let value = value.as_str()?;
        let title = names.get(index).and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), shown(title)))
    });
    let titled = list("oneOf").iter().chain(list("anyOf")).filter_map(|choice| {
        let value = choice.get("const")?.as_str()?;
        let title = choice.get("title").and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), shown(title)))
    });
    plain.chain(titled).take(MAX_CHOICES).collect()
}

/// What stands for an answer that is not given.
const LEFT_EMPTY: &str = "Leave it empty";

impl Field {
    fn question(&self) -> String {
        let mut text = self.title.clone();
        if !self.description.is_empty() {
            text.push_str(&format!(" ({})", self.description));
        }
        text.push_str(match &self.kind {
            Kind::Text | Kind::YesNo | Kind::One(_) => "",
            Kind::Number { whole: true } => " [a whole number]",
            Kind::Number { whole: false } => " [a number]",
            Kind::Several(_) => " [one or several, with commas]",
        });
        text
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options: Vec<(String, String)> = match &self.kind {
            Kind::YesNo => ["Yes", "No"].map(|word| (word.to_owned(), String::new())).into(),
            Kind::One(choices) | Kind::Several(choices) => {
                choices.iter().map(|(value, title)| (title.clone(), value.clone())).collect()
            }
            Kind::Text | Kind::Number { .. } => {
                let default = self.default.as_ref().and_then(|default| match default {
                    Value::String(text) => Some(shown(text)),
                    Value::Number(number) => Some(number.to_string()),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                });
                default.map(|text| (text, "the default".to_owned())).into_iter().collect()
            }
        };
        if !self.required {
            options.push((LEFT_EMPTY.to_owned(), String::new()));
        }
        options
    }

    /// The answer as the server takes it; `None` for one that is left out.
    fn read(&self, answer: &str) -> Result<Option<Value>, String> {
        if !self.required && (answer.is_empty() || answer == LEFT_EMPTY) {
            return Ok(None);
        }
        let value = match &self.kind {
            Kind::Text => Some(json!(answer)),
            Kind::Number { whole: true } => answer.parse::<i64>().ok().map(Value::from),
            Kind::Number { whole: false } => {
                answer.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
            }
            Kind::YesNo => match answer.to_lowercase().as_str() {
                "yes" | "y" | "true" => Some(json!(true)),
                "no" | "n" | "false" => Some(json!(false)),
                _ => None,
            },
            Kind::One(choices) => choice(choices, answer).map(Value::from),
            Kind::Several(choices) => answer
                .split(',')
                .map(|part| choice(choices, part.trim()))
                .collect::<Option<Vec<_>>>()
                .map(Value::from),
        };
        value.map(Some).ok_or_else(|| {
            match &self.kind {
                Kind::Text => "text is wanted",
                Kind::Number { whole: true } => "a whole number is wanted",
                Kind::Number { whole: false } => "a number is wanted",
                Kind::YesNo => "yes or no is wanted",
                Kind::One(_) | Kind::Several(_) => "one of the choices is wanted",
            }
            .to_owned()
        })
    }
}

fn choice(choices: &[(String, String)], answer: &str) -> Option<String> {
    let fits = |(value, title): &&(String, String)| value == answer || title == answer;
    choices.iter().find(fits).map(|(value, _)| value.clone())
}

/// What a server wrote, as a person is shown it: in one line and bounded, so that it cannot pass for something else.
fn shown(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().map(plain).take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests;
