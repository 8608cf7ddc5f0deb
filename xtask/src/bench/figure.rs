//! A measured figure, and tables of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Result;
use crate::steps::Done;

/// A figure without a bound is doubtful when it is known no better than to this part of itself.
const DOUBTFUL: f64 = 0.25;

/// One measured quantity: smaller is better.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// What was measured: the subject, a colon, and the rest.
    pub(crate) name: String,
    /// How much: of several measurements the one in the middle.
    pub(crate) value: f64,
    /// Of what: `x` for a ratio, else `us`, `ms`, `MB` and the like.
    pub(crate) unit: String,
    /// The most it may be.
    pub(crate) bound: Option<f64>,
    /// How often it was measured.
    pub(crate) runs: usize,
    /// By how much the true middle may well differ from the value; absent when there are too few runs to tell.
    pub(crate) noise: Option<f64>,
}

impl Figure {
    /// A figure that was measured once, without a bound.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned(), bound: None, runs: 1, noise: None }
    }

    /// The middle of several measurements.
    pub(crate) fn median(name: impl Into<String>, samples: Vec<f64>, unit: &str) -> Self {
        let runs = samples.len();
        let (value, noise) = middle(samples);
        Self { runs, noise, ..Self::new(name, value, unit) }
    }

    /// Sets the most it may be.
    #[must_use]
    pub(crate) fn at_most(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }

    /// The word before the colon.
    pub(crate) fn subject(&self) -> &str {
        self.name.split(':').next().unwrap_or_default()
    }

    /// A value that is no number counts as over the bound.
    fn is_over(&self) -> bool {
        self.bound.is_some_and(|bound| self.value.is_nan() || self.value > bound)
    }

    /// Whether another run might well say something else: the bound lies within the noise, or the noise is a large part.
    fn is_doubtful(&self) -> bool {
        self.noise.is_some_and(|noise| match self.bound {
            Some(bound) => (self.value - bound).abs() < noise,
            None => noise > DOUBTFUL * self.value.abs(),
        })
    }
}

/// The sample in the middle, and half the width of the interval that holds the true middle with a confidence of 95 %,
/// whatever the distribution: between the samples at the ranks n/2 ± 0.98 √n (the sign test's interval). Fewer than six
/// samples give no such interval.
fn middle(mut samples: Vec<f64>) -> (f64, Option<f64>) {
    samples.sort_by(f64::total_cmp);
    let count = samples.len();
    let at = |rank: usize| samples.get(rank).copied().unwrap_or(f64::NAN);
    // 0.98 √n, rounded up: the root of 0.9604 n.
    let square = (count * 9_604).div_ceil(10_000);
    let reach = square.isqrt() + usize::from(square.isqrt().pow(2) < square);
    let (low, high) = ((count / 2).saturating_sub(reach), count / 2 + reach);
    let high = high.min(count.saturating_sub(1));
    let noise = (count >= 6).then(|| (at(high) - at(low)) / 2.0);
    (at(count / 2), noise)
}

/// Reads what a measuring program printed, or this program.
pub(crate) fn from_json(rows: &Value) -> Result<Vec<Figure>> {
    rows.as_array()
        .ok_or("the measuring program printed no list")?
        .iter()
        .map(|row| {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            let number = |key: &str| row.get(key).and_then(Value::as_f64);
            let name = text("name").ok_or_else(|| format!("a figure without name: {row}"))?;
            let unit = text("unit").unwrap_or_default();
            let figure = if let Some(samples) = row.get("samples").and_then(Value::as_array) {
                let samples: Option<Vec<f64>> = samples.iter().map(Value::as_f64).collect();
                let samples =
                    samples.ok_or_else(|| format!("a sample that is no number: {row}"))?;
                Figure::median(name, samples, unit)
            } else {
                let value =
                    number("value").ok_or_else(|| format!("a figure without value: {row}"))?;
                let runs = row.get("runs").and_then(Value::as_u64).unwrap_or(1);
                let runs = usize::try_from(runs)?;
                Figure { runs, noise: number("noise"), ..Figure::new(name, value, unit) }
            };
            Ok(Figure { bound: number("bound"), ..figure })
        })
        .collect()
}

/// The figures for machines.
pub(crate) fn to_json(figures: &[Figure]) -> Value {
    figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name, "value": figure.value, "unit": figure.unit, "bound": figure.bound,
                "runs": figure.runs, "noise": figure.noise, "doubtful": figure.is_doubtful(),
            })
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

/// The figures for people, those of one subject below each other.
pub(crate) fn table(figures: &[Figure]) -> String {
    let width = figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or_default();
    let mut groups: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        groups.entry(figure.subject()).or_default().push(figure);
    }
    let mut text =
        format!("{:<width$} {:>10}      {:>9} {:>6}  bound\n", "", "median", "±", "runs");
    for figure in groups.into_values().flatten() {
        let noise = figure.noise.map_or("-".to_owned(), |noise| format!("{noise:.2}"));
        let _ = write!(
            text,
            "{:<width$} {:>10.2} {:<4} {noise:>9} {:>6}",
            figure.name, figure.value, figure.unit, figure.runs
        );
        if let Some(bound) = figure.bound {
            let _ = write!(text, "  at most {bound} {}", figure.unit);
        }
        for (word, applies) in [("OVER", figure.is_over()), ("noisy", figure.is_doubtful())] {
            if applies {
                let _ = write!(text, "  {word}");
            }
        }
        text.push('\n');
    }
    if figures.iter().any(Figure::is_doubtful) {
        text.push_str(
            "\n± holds the true median in 95 of 100 cases. noisy: the bound lies within it, or it is more than a quarter of the\nvalue; measure again when the machine is idle.\n",
        );
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
    fn a_table_shows_values_noise_runs_and_bounds_subject_by_subject() {
        let sure: Vec<f64> = vec![2.0; 9];
        let wild = [1.0, 1.0, 1.0, 1.0, 2.5, 9.0, 9.0, 9.0, 9.0].to_vec();
        let figures = [
            Figure::median("b: one", sure, "x").at_most(3.0),
            Figure::new("a: two", 3.1, "x").at_most(3.0),
            Figure::median("b: three", wild.clone(), "x").at_most(3.0),
            Figure::median("b: four", wild, "ms"),
        ];
        let table = table(&figures);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines.get(..5).unwrap_or_default(),
            [
                "             median              ±   runs  bound",
                "a: two         3.10 x            -      1  at most 3 x  OVER",
                "b: one         2.00 x         0.00      9  at most 3 x",
                "b: three       2.50 x         4.00      9  at most 3 x  noisy",
                "b: four        2.50 ms        4.00      9  noisy",
            ]
        );
        assert!(table.contains("95 of 100"), "{table}");
    }

    #[test]
    fn the_middle_is_known_the_better_the_more_often_it_is_measured() {
        let even = |count: u32| (0..count).map(|at| f64::from(at) / f64::from(count)).collect();
        let noise = |count| middle(even(count)).1.unwrap();
        assert!(noise(10) > noise(100) && noise(100) > noise(1_000));
        assert!((noise(1_000) - 0.031).abs() < 0.001, "{}", noise(1_000));
        assert_eq!(middle(vec![5.0, 1.0, 9.0, 2.0, 3.0]), (3.0, None));
        assert!(middle(Vec::new()).0.is_nan());
    }

    #[test]
    fn json_says_the_same_figures() {
        let mut figures = figures().get(..3).unwrap_or_default().to_vec();
        figures.push(Figure::median("often", vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "ms"));
        assert_eq!(from_json(&to_json(&figures)).unwrap(), figures);
        assert!(from_json(&json!([{ "name": "x", "value": null }])).is_err());
        assert!(from_json(&json!([{ "name": "x", "samples": [1, "2"] }])).is_err());
        assert!(from_json(&json!({})).is_err());
    }

    #[test]
    fn samples_become_their_median() {
        let row = json!([{ "name": "x", "samples": [3, 1, 2], "unit": "ms", "bound": 4 }]);
        let figures = from_json(&row).unwrap();
        assert_eq!(figures, [Figure::median("x", vec![1.0, 2.0, 3.0], "ms").at_most(4.0)]);
    }
}
