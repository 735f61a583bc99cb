//! The picture of the resources over the time of a run.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::sample::{Gauge, Sample};

/// Draws one curve for each resource, below each other.
pub(super) fn draw(samples: &[Sample], path: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let last = samples.last().map_or(1.0, |sample| sample.at.as_secs_f64().max(1.0)) / 60.0;
    for (area, gauge) in root.split_evenly((Gauge::ALL.len() / COLUMNS, COLUMNS)).iter().zip(Gauge::ALL) {
        let greatest = samples.iter().map(|sample| sample.of(gauge)).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .caption(gauge.name(), (FONT, 16))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..last, 0.0..greatest * 1.2)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().light_line_style(WHITE).x_desc("minutes").label_style((FONT, 12));
        mesh.x_label_formatter(&|x| format!("{x:.0}")).y_label_formatter(&|y| format!("{y:.0}")).draw()?;
        let points = samples.iter().map(|sample| (sample.at.as_secs_f64() / 60.0, sample.of(gauge)));
        chart.draw_series(LineSeries::new(points, BLUE.stroke_width(1)))?;
    }
    root.present()?;
    Ok(())
}

const SIZE: (u32, u32) = (960, 720);
const COLUMNS: usize = 2;
const FONT: &str = "sans-serif";
