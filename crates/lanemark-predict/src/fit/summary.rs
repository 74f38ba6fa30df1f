//! The summary of a fit as a result: the values as text with their intervals, the comparison of measured and modelled
//! figures, and the warnings.

use lanemark_schema::result::{
    Determination, FigureKind, FitWarning, FittedDrive, FittedFigure, FittedParameter,
    UndeterminedValue,
};
use lanemark_sim::spec::SystemSpec;

use super::disk;
use super::engine::TrialSimulator;
use super::geometry::{FlashGeometry, GeometrySearch};
use super::identify::{FittedValues, SIDES_95, ValueDetermination};
use super::parameter::{UNSEEN, flash};
use crate::PredictError;

/// The relative error above which a figure is reported.
const MISS: f64 = 0.10;
/// The scatter above which there is a warning.
const SCATTER: f64 = 1.5;

pub(super) struct FinishedFit<'o> {
    /// The system with the template's values.
    pub(super) original: &'o SystemSpec,
    pub(super) engine: &'o TrialSimulator,
    pub(super) explored: GeometrySearch,
    pub(super) known: FittedValues,
}

impl FinishedFit<'_> {
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
        let value_text = |log: f64| parameter.text(parameter.value(log));
        let [below, above] = self.known.reaches[index];
        let range_80 =
            (below + above > 0.0).then(|| (value_text(log - below), value_text(log + above)));
        let (value, interval_95, standing) = match self.known.standings[index] {
            ValueDetermination::Identified(deviation) => {
                let reach = SIDES_95 * deviation;
                (
                    Some(value),
                    Some((value_text(log - reach), value_text(log + reach))),
                    Determination::Identified,
                )
            }
            ValueDetermination::Held { at_template, with } => {
                let with = with.map(|with| self.engine.parameters[with].name.to_owned());
                let needs = parameter.needs.to_owned();
                let standing = Determination::Open { kept_template: at_template, with, needs };
                let template_text = template.map(|value| parameter.text(value));
                (if at_template { template_text } else { Some(value) }, None, standing)
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

    /// Returns the values of a disk that change together with the fitted values.
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

    /// Returns the dies and units if they differ from the template's values, and the values that must change with them.
    fn geometry(&self) -> Vec<FittedParameter> {
        let (Some(now), Some(before)) = (
            flash(&self.engine.base.attachments[0].drive),
            flash(&self.original.attachments[0].drive),
        ) else {
            return Vec::new();
        };
        let same = FlashGeometry::from_drive(&self.original.attachments[0].drive)
            == Some(self.explored.best);
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
                "random reads by several threads, deep enough that they queue at the dies: RND4K Q4T1 to Q32T4 read",
            ),
            (
                &mut unit,
                self.explored.range(|geometry| geometry.unit),
                "RND64K Q1T1 and SEQ128K Q1T1 read, which show the number of dies per request",
            ),
        ] {
            // The measurements must exclude a factor of four, because a factor of two is the finest step.
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

    /// Returns each measured figure, and the model's figure for the rounded values.
    pub(super) fn figures(&self) -> Result<Vec<FittedFigure>, PredictError> {
        let system = self.engine.system(&self.rounded());
        let all_trials = self.engine.trials_of(|_| true);
        let jobs: Vec<(usize, usize)> = all_trials.iter().map(|&trial| (0, trial)).collect();
        let answers = self.engine.tell(&[system], &jobs)?;
        let mut figures = Vec::new();
        for (trial, answers) in self.engine.trials.iter().zip(&answers) {
            for (measured, answers) in trial.figures.iter().zip(answers) {
                let Some(modelled) = *answers else { continue };
                figures.push(FittedFigure {
                    test: trial.test.name.clone(),
                    kind: measured.kind,
                    request_bytes: trial.test.block_mean(),
                    measured: measured.value,
                    modelled,
                });
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

    /// Returns `fitted` with the warnings that its figures cause.
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

/// Returns the values that stay at the template's values.
pub(super) fn values_kept_from_template(original: &SystemSpec) -> Vec<UndeterminedValue> {
    let undetermined_values = |values: &[(&str, &str)]| -> Vec<UndeterminedValue> {
        let undetermined = |(parameter, needs): &(&str, &str)| UndeterminedValue {
            parameter: (*parameter).to_owned(),
            needs: (*needs).to_owned(),
        };
        values.iter().map(undetermined).collect()
    };
    if disk::disk(&original.attachments[0].drive).is_some() {
        return undetermined_values(&disk::UNSEEN);
    }
    let cached = flash(&original.attachments[0].drive)
        .is_some_and(|flash| flash.translation.pseudo_slc.is_some());
    let mut there = UNSEEN.to_vec();
    there.retain(|(parameter, _)| cached || !parameter.starts_with("drive.pseudo_slc"));
    undetermined_values(&there)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::Provenance;

    use super::super::engine::tests::engine;
    use super::super::solve::SearchResult;
    use super::*;

    /// Returns the outcome of a fit that did not change any value after it tried these geometries. The determination of
    /// every value is `standing`.
    fn outcome<'o>(
        engine: &'o TrialSimulator,
        original: &'o SystemSpec,
        tried: &[(u64, u64, f64)],
        standing: ValueDetermination,
    ) -> FinishedFit<'o> {
        let count = engine.parameters.len();
        let geometry = |&(dies, unit, cost): &(u64, u64, f64)| (FlashGeometry { dies, unit }, cost);
        FinishedFit {
            original,
            engine,
            explored: GeometrySearch {
                best: FlashGeometry::from_drive(&engine.base.attachments[0].drive).unwrap(),
                found: SearchResult { logs: engine.priors.clone(), cost: 1.0 },
                tried: tried.iter().map(geometry).collect(),
            },
            known: FittedValues {
                logs: engine.priors.clone(),
                standings: vec![standing; count],
                reaches: vec![[0.0, 0.0]; count],
                scatter: 1.0,
            },
        }
    }

    fn find<'p>(parameters: &'p [FittedParameter], name: &str) -> &'p FittedParameter {
        parameters.iter().find(|one| one.parameter == name).unwrap()
    }

    #[test]
    fn a_determined_value_has_its_interval_and_a_fixed_one_its_range() {
        let engine = engine("samsung-950-pro-512gb");
        let original = engine.base.clone();
        let name = "drive.flash.program";
        let index = engine.index_of(name).unwrap();
        let mut fit = outcome(&engine, &original, &[], ValueDetermination::Identified(0.1));
        fit.known.logs[index] = engine.parameters[index].log(1_000.0);
        fit.known.reaches[index] = [0.2, 0.4];
        let found = find(&fit.parameters(), name).clone();
        // exp(0.196) is 1.2165, exp(0.2) is 1.2214 and exp(0.4) is 1.4918.
        assert_eq!(found.value.as_deref(), Some("1000 us"));
        let ends = |low: &str, high: &str| Some((low.to_owned(), high.to_owned()));
        assert_eq!(found.interval_95, ends("822 us", "1217 us"));
        assert_eq!(found.range_80, ends("818.7 us", "1492 us"));
        assert_eq!(found.standing, Determination::Identified);
        let template = engine.parameters[index].get(&original.attachments[0].drive).unwrap();
        let template = engine.parameters[index].text(template);
        assert_eq!(found.template.as_deref(), Some(template.as_str()));
        // A value without distances on either side does not have a range.
        assert_eq!(find(&fit.parameters(), "drive.front_end.write_time").range_80, None);
        for (at_template, value) in [(true, template.as_str()), (false, "1000 us")] {
            let with = Some(0);
            fit.known.standings[index] = ValueDetermination::Held { at_template, with };
            let found = find(&fit.parameters(), name).clone();
            assert_eq!(found.value.as_deref(), Some(value));
            assert_eq!(found.interval_95, None);
            let Determination::Open { kept_template, with, .. } = &found.standing else {
                panic!("{found:?}")
            };
            assert_eq!(*kept_template, at_template);
            assert_eq!(with.as_deref(), Some(engine.parameters[0].name));
        }
    }

    #[test]
    fn a_geometry_is_open_if_a_factor_of_four_fits_as_well() {
        let engine = engine("samsung-950-pro-512gb");
        let original = engine.base.clone();
        let FlashGeometry { dies, unit } =
            FlashGeometry::from_drive(&original.attachments[0].drive).unwrap();
        let rows = |tried: &[(u64, u64, f64)]| {
            outcome(&engine, &original, tried, ValueDetermination::Identified(0.1)).geometry()
        };
        let own = flash(&original.attachments[0].drive).unwrap();
        let narrow = rows(&[(dies, unit, 1.0), (dies * 2, unit, 1.0), (dies / 2, unit, 9.0)]);
        let names: Vec<&str> = narrow.iter().map(|row| row.parameter.as_str()).collect();
        assert_eq!(names, ["drive.flash.dies_per_channel", "drive.flash.page"]);
        assert!(narrow.iter().all(|row| row.standing == Determination::Identified));
        let channels = u64::from(own.channels);
        let per_channel = |dies: u64| (dies / channels).to_string();
        assert_eq!(narrow[0].interval_95, Some((per_channel(dies), per_channel(dies * 2))));
        assert_eq!(narrow[0].value.as_deref(), Some(per_channel(dies).as_str()));
        let page = |unit: u64| format!("{} KiB", unit * 4 / u64::from(own.planes));
        assert_eq!(narrow[1].interval_95, Some((page(unit), page(unit))));
        assert_eq!(narrow[1].value, narrow[1].template);
        let wide = rows(&[
            (dies, unit, 1.0),
            (dies * 2, unit, 1.0),
            (dies / 2, unit, 1.0),
            (dies, unit * 2, 1.0),
        ]);
        let is_open = |row: &FittedParameter| {
            matches!(row.standing, Determination::Open { kept_template: true, .. })
        };
        assert_eq!(wide.iter().map(is_open).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn another_geometry_lists_every_value_that_changes_with_it() {
        let mut engine = engine("samsung-950-pro-512gb");
        let original = engine.base.clone();
        let FlashGeometry { dies, unit } =
            FlashGeometry::from_drive(&original.attachments[0].drive).unwrap();
        let other = FlashGeometry { dies, unit: unit * 2 };
        other.apply_to(&mut engine.base.attachments[0].drive);
        let now = flash(&engine.base.attachments[0].drive).unwrap().clone();
        let before = flash(&original.attachments[0].drive).unwrap().clone();
        let rows = outcome(&engine, &original, &[], ValueDetermination::Identified(0.1)).geometry();
        let values: Vec<(&str, Option<&str>, Option<&str>)> = rows
            .iter()
            .skip(2)
            .map(|row| (row.parameter.as_str(), row.value.as_deref(), row.template.as_deref()))
            .collect();
        for (name, now, before) in [
            ("drive.flash.channels", now.channels, before.channels),
            ("drive.flash.planes", now.planes, before.planes),
            ("drive.flash.pages_per_block", now.pages_per_block, before.pages_per_block),
            ("drive.flash.blocks_per_plane", now.blocks_per_plane, before.blocks_per_plane),
        ] {
            let texts = (now.to_string(), before.to_string());
            let row = (name, Some(texts.0.as_str()), Some(texts.1.as_str()));
            assert_eq!(values.contains(&row), now != before, "{name}: {values:?}");
        }
        assert!(!values.is_empty());
    }

    #[test]
    fn misses_and_scatter_are_warnings_beyond_their_bounds() {
        let engine = engine("samsung-950-pro-512gb");
        let original = engine.base.clone();
        let figure = |test: &str, kind, modelled| FittedFigure {
            test: test.to_owned(),
            kind,
            request_bytes: 4096.0,
            measured: 100.0,
            modelled,
        };
        let fitted = || FittedDrive {
            schema_version: 1,
            provenance: Provenance::default(),
            measured: String::new(),
            results: Vec::new(),
            template: String::new(),
            platform: String::new(),
            port: String::new(),
            parameters: Vec::new(),
            host: Vec::new(),
            figures: vec![
                figure("near", FigureKind::Throughput, 109.9),
                figure("high", FigureKind::Throughput, 110.1),
                figure("low", FigureKind::Throughput, 89.0),
                figure("late", FigureKind::ReadMean, 200.0),
            ],
            unseen: Vec::new(),
            warnings: Vec::new(),
            simulations: 0,
        };
        let mut fit = outcome(&engine, &original, &[], ValueDetermination::Identified(0.1));
        fit.known.scatter = 1.5;
        let tests = |fit: &FinishedFit<'_>| -> Vec<String> {
            let warnings = fit.with_warnings(fitted()).warnings;
            let name = |warning: FitWarning| match warning {
                FitWarning::Misses { test, .. } => test,
                FitWarning::Scatter { times } => format!("{times:.2}"),
                other => panic!("{other:?}"),
            };
            warnings.into_iter().map(name).collect()
        };
        assert_eq!(tests(&fit), ["high", "low"]);
        fit.known.scatter = 1.51;
        assert_eq!(tests(&fit), ["high", "low", "1.51"]);
    }

    #[test]
    fn a_cache_is_undetermined_only_in_a_drive_with_one() {
        let names = |drive: &str| -> Vec<String> {
            values_kept_from_template(&engine(drive).base)
                .into_iter()
                .map(|value| value.parameter)
                .collect()
        };
        let plain = names("samsung-950-pro-512gb");
        let cached = names("samsung-980-pro-1tb");
        assert!(!plain.iter().any(|name| name.starts_with("drive.pseudo_slc")));
        assert!(cached.iter().any(|name| name.starts_with("drive.pseudo_slc")));
        assert!(plain.len() >= 4 && cached.len() > plain.len());
    }
}
