//! The summary of a fit as a result: values as text with their intervals, figures compared with the model's, warnings.

use lanemark_schema::result::{
    Determination, FigureKind, FitWarning, FittedDrive, FittedFigure, FittedParameter,
    UndeterminedValue,
};
use lanemark_sim::spec::SystemSpec;

use super::disk;
use super::engine::TrialSimulator;
use super::geometry::{Geometry, GeometrySearch};
use super::identify::{FittedValues, SIDES_95, ValueDetermination};
use super::parameter::{UNSEEN, flash};
use crate::PredictError;

/// The error above which a figure is reported.
const MISS: f64 = 0.10;
/// The scatter above which a warning reports it.
const SCATTER: f64 = 1.5;

/// A fit that has ended.
pub(super) struct EndedFit<'o> {
    /// The system with the template.
    pub(super) original: &'o SystemSpec,
    pub(super) engine: &'o TrialSimulator,
    pub(super) explored: GeometrySearch,
    pub(super) known: FittedValues,
}

impl EndedFit<'_> {
    /// Returns each free value with its precision.
    pub(super) fn parameters(&self) -> Vec<FittedParameter> {
        let indices = 0..self.engine.parameters.len();
        let mut all: Vec<FittedParameter> = indices.map(|index| self.parameter(index)).collect();
        all.extend(self.geometry());
        all.extend(self.followers());
        all
    }

    fn parameter(&self, index: usize) -> FittedParameter {
        let parameter = &self.engine.parameters[index];
        let template = parameter.get(&self.original.attachments[0].drive);
        let log = self.known.logs[index];
        let value = parameter.text(parameter.value(log));
        let at = |log: f64| parameter.text(parameter.value(log));
        let [below, above] = self.known.reaches[index];
        let range_80 = (below + above > 0.0).then(|| (at(log - below), at(log + above)));
        let (value, interval_95, standing) = match self.known.standings[index] {
            ValueDetermination::Identified(deviation) => {
                let reach = SIDES_95 * deviation;
                (Some(value), Some((at(log - reach), at(log + reach))), Determination::Identified)
            }
            ValueDetermination::Held { at_template, with } => {
                let with = with.map(|with| self.engine.parameters[with].name.to_owned());
                let needs = parameter.needs.to_owned();
                let standing = Determination::Open { kept_template: at_template, with, needs };
                let kept = template.map(|value| parameter.text(value));
                (if at_template { kept } else { Some(value) }, None, standing)
            }
        };
        FittedParameter {
            parameter: parameter.name.to_owned(),
            value,
            interval_95,
            range_80,
            template: template.map(|value| parameter.text(value)),
            standing,
        }
    }

    /// Returns the values of a disk that change with the fitted values.
    fn followers(&self) -> impl Iterator<Item = FittedParameter> {
        let now = self.engine.system(&self.rounded());
        let found = disk::followers(&now.attachments[0].drive, &self.original.attachments[0].drive);
        found.into_iter().map(|(parameter, value, template)| FittedParameter {
            parameter,
            value: Some(value),
            interval_95: None,
            range_80: None,
            template: Some(template),
            standing: Determination::Identified,
        })
    }

    /// Returns dies and units if they differ from the template's, and the values that must change with them.
    fn geometry(&self) -> Vec<FittedParameter> {
        let (Some(now), Some(before)) = (
            flash(&self.engine.base.attachments[0].drive),
            flash(&self.original.attachments[0].drive),
        ) else {
            return Vec::new();
        };
        let same = Geometry::of(&self.original.attachments[0].drive) == Some(self.explored.best);
        let row = |key: &str, value: String, template: String, interval_95| FittedParameter {
            parameter: format!("drive.flash.{key}"),
            value: Some(value),
            interval_95,
            range_80: None,
            template: Some(template),
            standing: Determination::Identified,
        };
        let (least, most) = self.explored.range(|geometry| geometry.dies);
        let per_channel = |dies: u64| (dies / u64::from(now.channels)).max(1).to_string();
        let mut dies = row(
            "dies_per_channel",
            now.dies_per_channel.to_string(),
            before.dies_per_channel.to_string(),
            Some((per_channel(least), per_channel(most))),
        );
        let (least, most) = self.explored.range(|geometry| geometry.unit);
        let page = |slots: u64| format!("{} KiB", (slots * 4 / u64::from(now.planes)).max(4));
        let mut unit = row(
            "page",
            now.page.to_string(),
            before.page.to_string(),
            Some((page(least), page(most))),
        );
        for (parameter, range, needs) in [
            (
                &mut dies,
                self.explored.range(|geometry| geometry.dies),
                "random reads by several threads at depths at which they queue at dies: RND4K Q4T1 to Q32T4 read",
            ),
            (
                &mut unit,
                self.explored.range(|geometry| geometry.unit),
                "RND64K Q1T1 and SEQ128K Q1T1 read, which show the number of dies for each request",
            ),
        ] {
            // The measurements must exclude a factor of four; a factor of two is the finest step.
            if range.1 >= range.0 * 4 {
                let kept_template = same;
                let needs = needs.to_owned();
                parameter.standing = Determination::Open { kept_template, with: None, needs };
            }
        }
        let mut rows = vec![dies, unit];
        let rest = [
            ("channels", now.channels, before.channels),
            ("planes", now.planes, before.planes),
            ("pages_per_block", now.pages_per_block, before.pages_per_block),
            ("blocks_per_plane", now.blocks_per_plane, before.blocks_per_plane),
        ];
        let changed = rest.into_iter().filter(|(_, now, before)| now != before);
        rows.extend(
            changed.map(|(key, now, before)| row(key, now.to_string(), before.to_string(), None)),
        );
        rows
    }

    /// Returns each measured figure with the model's figure for the rounded values.
    pub(super) fn figures(&self) -> Result<Vec<FittedFigure>, PredictError> {
        let system = self.engine.system(&self.rounded());
        let all = self.engine.trials_of(|_| true);
        let jobs: Vec<(usize, usize)> = all.iter().map(|&trial| (0, trial)).collect();
        let answers = self.engine.tell(&[system], &jobs)?;
        let mut figures = Vec::new();
        for (trial, answers) in self.engine.trials.iter().zip(&answers) {
            for (measured, answers) in trial.figures.iter().zip(answers) {
                let Some(modelled) = *answers else { continue };
                let (test, kind) = (trial.test.name.clone(), measured.kind);
                let (request_bytes, measured) = (trial.test.block_mean(), measured.value);
                figures.push(FittedFigure { test, kind, request_bytes, measured, modelled });
            }
        }
        Ok(figures)
    }

    /// Returns the logarithms of the rounded values.
    fn rounded(&self) -> Vec<f64> {
        let values = self.engine.parameters.iter().zip(&self.known.logs);
        values
            .map(|(parameter, &log)| parameter.log(parameter.rounded(parameter.value(log))))
            .collect()
    }

    /// Returns `fitted` with the warnings that its figures raise.
    pub(super) fn with_warnings(&self, mut fitted: FittedDrive) -> FittedDrive {
        let missed = fitted
            .figures
            .iter()
            .filter(|figure| figure.kind == FigureKind::Throughput && figure.error().abs() > MISS);
        let missed: Vec<FitWarning> = missed
            .map(|figure| FitWarning::Misses { test: figure.test.clone(), error: figure.error() })
            .collect();
        fitted.warnings.extend(missed);
        if self.known.scatter > SCATTER {
            fitted.warnings.push(FitWarning::Scatter { times: self.known.scatter });
        }
        fitted
    }
}

/// Returns the values that remain the template's.
pub(super) fn unseen(original: &SystemSpec) -> Vec<UndeterminedValue> {
    let all = |values: &[(&str, &str)]| -> Vec<UndeterminedValue> {
        let undetermined = |(parameter, needs): &(&str, &str)| UndeterminedValue {
            parameter: (*parameter).to_owned(),
            needs: (*needs).to_owned(),
        };
        values.iter().map(undetermined).collect()
    };
    if disk::disk(&original.attachments[0].drive).is_some() {
        return all(&disk::UNSEEN);
    }
    let cached = flash(&original.attachments[0].drive)
        .is_some_and(|flash| flash.translation.pseudo_slc.is_some());
    let mut there = UNSEEN.to_vec();
    there.retain(|(parameter, _)| cached || !parameter.starts_with("drive.pseudo_slc"));
    all(&there)
}
