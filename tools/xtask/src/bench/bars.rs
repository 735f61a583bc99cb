//! Pictures of a figure: for each scenario, a bar of zklock and one of Curator.

use std::fmt::Write;

use super::scenarios::{CURATOR, ZKLOCK};
use super::table::{Figures, get};
use crate::step::Outcome;

/// A picture of one figure.
pub(crate) struct Bars {
    figure: &'static str,
    title: &'static str,
    scale: Scale,
    /// The names of scenarios, with the values of zklock and of Curator.
    groups: Vec<(String, [f64; 2])>,
}

#[derive(Clone, Copy)]
pub(crate) enum Scale {
    Linear,
    /// Of the value plus one, so that zero has no bar.
    Logarithmic,
}

impl Bars {
    pub(crate) fn new(figure: &'static str, title: &'static str, scale: Scale) -> Self {
        Self { figure, title, scale, groups: Vec::new() }
    }

    /// Adds the clients of one scenario in their usual way, if both were measured.
    pub(crate) fn add(&mut self, scenario: &str, medians: &[(&'static str, Figures)]) -> Outcome {
        let of = |(client, _)| medians.iter().find(|(of, _)| *of == client).map(|(_, figures)| figures);
        if let (Some(zklock), Some(curator)) = (of(ZKLOCK), of(CURATOR)) {
            let values = [get(zklock, self.figure)?, get(curator, self.figure)?];
            self.groups.push((scenario.to_owned(), values));
        }
        Ok(())
    }

    /// Draws the picture in the format SVG.
    pub(crate) fn svg(&self) -> Result<String, std::fmt::Error> {
        let mut svg = String::new();
        let height = TOP + GROUP * self.groups.len();
        writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" {FONT}>"#
        )?;
        writeln!(svg, r#"<rect width="{WIDTH}" height="{height}" fill="white"/>"#)?;
        writeln!(svg, r#"<text x="8" y="18" font-weight="bold">{}</text>"#, self.title)?;
        for ((name, colour), x) in CLIENTS.into_iter().zip([8, 88]) {
            writeln!(svg, r#"<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>"#)?;
            writeln!(svg, r#"<text x="{}" y="37">{name}</text>"#, x + 14)?;
        }
        for (index, (scenario, values)) in self.groups.iter().enumerate() {
            let y = TOP + GROUP * index;
            writeln!(svg, r#"<text x="{}" y="{}" text-anchor="end">{scenario}</text>"#, LEFT - 8, y + 16)?;
            for ((value, (_, colour)), y) in values.iter().zip(CLIENTS).zip([y, y + BAR]) {
                let width = self.width(*value);
                let shown = if *value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
                writeln!(
                    svg,
                    r#"<rect x="{LEFT}" y="{y}" width="{width:.1}" height="{BAR}" fill="{colour}"/>"#
                )?;
                writeln!(svg, r#"<text x="{:.1}" y="{}">{shown}</text>"#, LEFT as f64 + width + 4.0, y + 10)?;
            }
        }
        writeln!(svg, "</svg>")?;
        Ok(svg)
    }

    fn width(&self, value: f64) -> f64 {
        let largest = self.groups.iter().flat_map(|(_, values)| *values).fold(1.0, f64::max);
        let share = match self.scale {
            Scale::Linear => value / largest,
            Scale::Logarithmic => value.ln_1p() / largest.ln_1p(),
        };
        LONGEST * share
    }
}

/// The names and the colours of the bars, in their order.
const CLIENTS: [(&str, &str); 2] = [("zklock", "#1f77b4"), ("Curator", "#b0b0b0")];
const FONT: &str = r#"font-family="sans-serif" font-size="12""#;
/// In pixels.
const WIDTH: usize = 780;
const LEFT: usize = 210;
const LONGEST: f64 = 480.0;
const TOP: usize = 52;
const BAR: usize = 12;
const GROUP: usize = 2 * BAR + 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::parse;

    #[test]
    fn a_bar_is_as_long_as_its_value_or_the_logarithm_of_it() {
        for (scale, half) in [(Scale::Linear, 49.5), (Scale::Logarithmic, 9.0)] {
            let mut bars = Bars::new("ops_per_s", "operations per second", scale);
            let row = |value: f64| parse(&format!("ops_per_s={value}")).unwrap();
            bars.add("rw", &[("Curator", row(half)), ("zklock", row(99.0))]).unwrap();
            bars.add("reentrant", &[("zklock", row(1.0))]).unwrap();
            assert_eq!(
                [99.0, half, 0.0].map(|value| bars.width(value).round()),
                [LONGEST, LONGEST / 2.0, 0.0]
            );
            let svg = bars.svg().unwrap();
            assert!(svg.contains(">rw<") && !svg.contains(">reentrant<"), "{svg}");
        }
    }
}
