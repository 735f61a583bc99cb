//! The pictures.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::bench::results::Results;
use crate::bench::scenarios::{CONTENDERS, CURATOR, KAZOO, RAW, ZKLOCK, contenders};
use crate::step::Outcome;

/// Draws all pictures into a directory.
pub(crate) fn draw(results: &Results, directory: &Path) -> Outcome {
    let pictures = [
        ("throughput.svg", over_contenders(results, "Operations per second at one lock", "ops_per_s")?),
        ("requests.svg", over_contenders(results, "Requests per operation at one lock", "requests_per_op")?),
        ("latency.svg", percentiles(results)?),
    ];
    for (name, picture) in pictures {
        let drawn = picture.draw(&directory.join(name));
        drawn.map_err(|error| format!("cannot draw {name}: {error}"))?;
    }
    Ok(())
}

/// Lines over a few places on the lower axis, with a logarithmic scale.
struct Picture {
    title: &'static str,
    below: &'static str,
    places: Vec<String>,
    series: Vec<Series>,
}

struct Series {
    name: &'static str,
    /// One for each place.
    values: Vec<f64>,
}

fn over_contenders(results: &Results, title: &'static str, figure: &str) -> Outcome<Picture> {
    let series = |(client, name)| {
        let values = CONTENDERS.into_iter().map(|count| results.of(&contenders(count), client)?.get(figure));
        Ok(Series { name, values: values.collect::<Outcome<_>>()? })
    };
    Ok(Picture {
        title,
        below: "contenders",
        places: CONTENDERS.map(|count| count.to_string()).to_vec(),
        series: SCHEMES.into_iter().map(series).collect::<Outcome<_>>()?,
    })
}

fn percentiles(results: &Results) -> Outcome<Picture> {
    let series = |name| {
        let figures = results.of("mutex 1×1", name)?;
        let values = ["p50_us", "p90_us", "p99_us", "p999_us"].map(|figure| figures.get(figure));
        Ok(Series { name, values: values.into_iter().collect::<Outcome<_>>()? })
    };
    Ok(Picture {
        title: "Microseconds to take and release a free lock",
        below: "percentile",
        places: ["50", "90", "99", "99.9"].map(str::to_owned).to_vec(),
        series: [ZKLOCK, RAW, CURATOR, KAZOO].into_iter().map(series).collect::<Outcome<_>>()?,
    })
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Picture {
    fn draw(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
        self.draw_lines(&left)?;
        self.draw_legend(&right)?;
        root.present()?;
        Ok(())
    }

    fn draw_lines(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let values = || self.series.iter().flat_map(|series| &series.values).copied();
        let (least, greatest) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let last = self.places.len() as f64 - 1.0;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 20))
            .margin(10)
            .x_label_area_size(42)
            .y_label_area_size(70)
            .build_cartesian_2d(-0.2..last + 0.2, (least / 1.5..greatest * 1.5).log_scale())?;
        let place = |x: &f64| {
            let is_place = (x - x.round()).abs() < 1e-6;
            let place = is_place.then(|| self.places.get(x.round() as usize)).flatten();
            place.cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_desc(self.below)
            .x_labels(self.places.len())
            .x_label_formatter(&place)
            .y_label_formatter(&|y| format!("{y}"))
            .label_style((FONT, 16))
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS) {
            let points = || series.values.iter().enumerate().map(|(place, value)| (place as f64, *value));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
        }
        Ok(())
    }

    fn draw_legend(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        for ((row, series), colour) in (0..).zip(&self.series).zip(COLOURS) {
            let y = 60 + 24 * row;
            area.draw(&PathElement::new([(0, y), (22, y)], colour.stroke_width(2)))?;
            area.draw(&Circle::new((11, y), 3, colour.filled()))?;
            area.draw(&Text::new(series.name, (30, y - 7), (FONT, 16)))?;
        }
        Ok(())
    }
}

/// The lines over the number of contenders, and their names in the legend.
const SCHEMES: [(&str, &str); 5] = [
    ("local-queue", "zklock, up to 8 sessions"),
    ("predecessor", "predecessor's watch"),
    ("Curator", CURATOR),
    ("all-watch-parent", "all watch the parent"),
    ("one-node", "race for one node"),
];

/// The palette of Okabe and Ito, which people with any kind of colour vision can tell apart.
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(90, 90, 90),
];

const FONT: &str = "sans-serif";
const SIZE: (u32, u32) = (760, 400);
const LEGEND: u32 = 190;
