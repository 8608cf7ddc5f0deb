//! A measured figure, and tables of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Result;
use crate::steps::Done;

/// One measured quantity: smaller is better.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) name: String,
    /// How much.
    pub(crate) value: f64,
    /// Of what: `x` for a ratio, else `us`, `ms`, `MB` and the like.
    pub(crate) unit: String,
    /// The most it may be.
    pub(crate) bound: Option<f64>,
}

impl Figure {
    /// A figure without a bound.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned(), bound: None }
    }

    /// Sets the most it may be.
    #[must_use]
    pub(crate) fn at_most(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }

    /// A value that is no number counts as over the bound.
    fn is_over(&self) -> bool {
        self.bound.is_some_and(|bound| self.value.is_nan() || self.value > bound)
    }
}

/// Reads what a measuring program printed.
pub(crate) fn from_json(rows: &Value) -> Result<Vec<Figure>> {
    rows.as_array()
        .ok_or("the measuring program printed no list")?
        .iter()
        .map(|row| {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            let number = |key: &str| row.get(key).and_then(Value::as_f64);
            Ok(Figure {
                name: text("name")
                    .ok_or_else(|| format!("a figure without name: {row}"))?
                    .to_owned(),
                value: number("value").ok_or_else(|| format!("a figure without value: {row}"))?,
                unit: text("unit").unwrap_or_default().to_owned(),
                bound: number("bound"),
            })
        })
        .collect()
}

/// The figures for machines.
pub(crate) fn to_json(figures: &[Figure]) -> Value {
    figures
        .iter()
        .map(|figure| {
            json!({ "name": figure.name, "value": figure.value, "unit": figure.unit, "bound": figure.bound })
        })
        .collect()
}

/// Fails when a figure is over its bound, or when there is none.
pub(crate) fn judge(figures: &[Figure]) -> Result<Done> {
    let over: Vec<&str> = figures
        .iter()
        .filter(|figure| figure.is_over())
        .map(|figure| figure.name.as_str())
        .collect();
    if figures.is_empty() {
        return Err("nothing was measured".into());
    }
    if over.is_empty() {
        return Ok(Done::Passed);
    }
    Err(format!("over the bound: {}", over.join(", ")).into())
}

/// The figures for people.
pub(crate) fn table(figures: &[Figure]) -> String {
    let width = figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for figure in figures {
        let _ = write!(text, "{:<width$} {:>10.2} {:<4}", figure.name, figure.value, figure.unit);
        if let Some(bound) = figure.bound {
            let mark = if figure.is_over() { "  OVER" } else { "" };
            let _ = write!(text, " at most {bound} {}{mark}", figure.unit);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        vec![
            Figure::new("fine", 2.9, "x").at_most(3.0),
            Figure::new("free", 99.0, "us"),
            Figure::new("slow", 3.1, "x").at_most(3.0),
            Figure::new("lost", f64::NAN, "x").at_most(3.0),
        ]
    }

    #[test]
    fn what_is_over_its_bound_or_not_measured_is_named() {
        let error = judge(&figures()).unwrap_err().to_string();
        assert_eq!(error, "over the bound: slow, lost");
        assert!(judge(figures().get(..2).unwrap_or_default()).is_ok());
        assert!(judge(&[]).is_err());
    }

    #[test]
    fn a_table_shows_values_units_and_bounds() {
        assert_eq!(
            table(figures().get(..3).unwrap_or_default()),
            "fine       2.90 x    at most 3 x\nfree      99.00 us\nslow       3.10 x    at most 3 x  OVER\n"
        );
    }

    #[test]
    fn json_says_the_same_figures() {
        let figures = figures().get(..3).unwrap_or_default().to_vec();
        assert_eq!(from_json(&to_json(&figures)).unwrap(), figures);
        assert!(from_json(&json!([{ "name": "x", "value": null }])).is_err());
        assert!(from_json(&json!({})).is_err());
    }
}
