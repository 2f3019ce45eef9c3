//! EDCA: a saturated station with each category alone, and with frames of several MPDUs in every mode of one stream,
//! against arithmetic and ns-3; several categories against ns-3.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Frequency};
use hopyard_model::mac;
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mac::edca::Params;
use hopyard_model::params::Params as _;
use hopyard_model::phy::mode::{Band, Carrier, Format, Guard, Mode, Name};
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare as compare_cases};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, circle};

/// Saturated categories.
pub const EDCA: Experiment = Experiment {
    name: "edca",
    title: "EDCA: categories, and frames with several MPDUs",
    run: |root, _| run(root),
    compare,
    needs: &["edca.csv", "edca_shares.csv"],
};

/// Code points of the four categories, the lowest first, with the slots of AIFS and the mean slots of back-off.
const CATEGORIES: [(&str, u8, u64, f64); 4] =
    [("BK", 8, 7, 7.5), ("BE", 0, 3, 7.5), ("VI", 32, 2, 3.5), ("VO", 48, 2, 1.5)];
/// Sizes of packets with their IP header.
const SIZES: [u32; 4] = [100, 500, 1000, 1500];
/// IP and UDP.
const HEADERS: u32 = 28;
/// Bytes of MAC header with QoS, LLC/SNAP and frame check.
const OVERHEAD: u32 = 38;
const SLOT_US: f64 = 9.0;
const SIFS_US: f64 = 16.0;
const MEASURED_S: f64 = 5.0;
/// The difference that is allowed.
const ALLOWED: f64 = 0.005;

/// What is sent: the kind of channel, the limits, the category, and the size of packets.
#[derive(Clone, Copy)]
struct Case {
    kind: &'static str,
    amendment: Amendment,
    megahertz: f64,
    guard: Guard,
    mode: Name,
    category: usize,
    size: u32,
    most_bytes: u32,
    most_mpdus: u32,
    most_us: u64,
}

#[derive(Serialize)]
struct Cell {
    kind: &'static str,
    mode: String,
    category: &'static str,
    size: u32,
    mpdus: u32,
    throughput_kbps: f64,
    closed_form_kbps: f64,
}

fn cases() -> Result<Vec<Case>> {
    let of_ofdm = |category, size| -> Result<Case> {
        Ok(Case {
            kind: "a, one MPDU",
            amendment: Amendment::A,
            megahertz: 20.0,
            guard: Guard::Long,
            mode: "54 Mbps".parse().map_err(|error: String| anyhow!(error))?,
            category,
            size,
            most_bytes: 0,
            most_mpdus: 1,
            most_us: 5484,
        })
    };
    let mut cases = Vec::new();
    for category in 0..4 {
        for size in SIZES {
            cases.push(of_ofdm(category, size)?);
        }
    }
    let aggregated = |kind, amendment, megahertz, guard, most_bytes, most_mpdus, most_us| {
        let carrier = Carrier { band: Band::High, bandwidth: Frequency::new(megahertz * 1e6), guard };
        let modes = Mode::on(carrier).filter(move |mode| match mode.format {
            Format::Ht { mcs } => amendment == Amendment::N && (mcs < 8 || mcs == 15 && megahertz > 20.0),
            Format::Vht { streams, .. } => amendment == Amendment::Ac && streams == 1,
            _ => false,
        });
        modes.flat_map(move |mode| {
            SIZES.map(|size| Case {
                kind,
                amendment,
                megahertz,
                guard,
                mode: mode.name(),
                category: 1,
                size,
                most_bytes,
                most_mpdus,
                most_us,
            })
        })
    };
    cases.extend(aggregated("n, 20 MHz, long", Amendment::N, 20.0, Guard::Long, 65_535, 64, 5484));
    cases.extend(aggregated("n, 40 MHz, short", Amendment::N, 40.0, Guard::Short, 65_535, 64, 5484));
    cases.extend(aggregated("n, 20 MHz, ath9k", Amendment::N, 20.0, Guard::Long, 65_535, 32, 4000));
    cases.extend(aggregated("ac, 80 MHz, long", Amendment::Ac, 80.0, Guard::Long, 1_048_575, 64, 5484));
    Ok(cases)
}

impl Case {
    fn data(&self) -> Result<&'static Mode> {
        let carrier = Carrier { band: Band::High, bandwidth: Frequency::new(self.megahertz * 1e6), guard: self.guard };
        Mode::on(carrier).find(|mode| mode.name() == self.mode).ok_or_else(|| anyhow!("no mode {}", self.mode))
    }

    /// The number of MPDUs in a frame, and the time of an exchange with its mean back-off in microseconds.
    fn cycle(&self) -> Result<(u32, f64)> {
        let (data, mpdu) = (self.data()?, self.size + OVERHEAD);
        // Each MPDU with its delimiter, padded to four bytes, except the last one. VHT counts one delimiter itself.
        let counted = if matches!(data.format, Format::Vht { .. }) { 4 } else { 0 };
        let bytes = |count: u32| (count - 1) * (4 + mpdu).next_multiple_of(4) + 4 + mpdu;
        let fits = |count: &u32| {
            bytes(*count) <= self.most_bytes && data.airtime(bytes(*count) - counted) <= Span::from_micros(self.most_us)
        };
        let mpdus = (2..=self.most_mpdus).take_while(fits).last().unwrap_or(1);
        let airtime = data.airtime(if mpdus > 1 { bytes(mpdus) - counted } else { mpdu });
        let carrier = Carrier { band: Band::High, bandwidth: Frequency::new(20e6), guard: Guard::Long };
        let basic: Vec<&'static Mode> = Mode::on(carrier)
            .filter(|mode| mode.format == Format::Ofdm && [6, 12, 24].contains(&(mode.rate().bps() / 1_000_000)))
            .collect();
        let answer = data.answer(&basic).ok_or_else(|| anyhow!("no answer to {}", self.mode))?;
        let answered = answer.airtime(if mpdus > 1 { 32 } else { 14 });
        let (_, _, aifsn, backoff) = CATEGORIES[self.category];
        let space = SIFS_US + aifsn as f64 * SLOT_US + backoff * SLOT_US + SIFS_US;
        Ok((mpdus, space + 1e6 * (airtime.seconds() + answered.seconds())))
    }

    fn run(&self) -> Result<Cell> {
        let (mpdus, cycle_us) = self.cycle()?;
        let payload = self.size - HEADERS;
        let expected = f64::from(mpdus * payload) * 8e3 / cycle_us;
        let mut params = Params::of_profile("rfc");
        params.dcf.standard = self.amendment;
        params.follow("standard");
        params.dcf.bandwidth = Frequency::new(self.megahertz * 1e6);
        params.follow("bandwidth");
        (params.dcf.guard_interval, params.dcf.rate) = (self.guard, self.mode);
        params.max_ampdu = Bytes::new(self.most_bytes.into());
        (params.max_mpdus, params.max_ampdu_time) = (self.most_mpdus, Span::from_micros(self.most_us));
        (params.video.txop_limit, params.voice.txop_limit) = (Span::ZERO, Span::ZERO);
        let mut scenario = around_a_sink(1, params)?;
        scenario.add_cbr(1, 0, 0.0, payload, 0.75 * cycle_us / f64::from(mpdus));
        scenario.spec.flows[0].dscp = CATEGORIES[self.category].1;
        scenario.times(0.2, 0.2 + MEASURED_S);
        let packets = scenario.run(1)?.flows[0].packets_unique;
        Ok(Cell {
            kind: self.kind,
            mode: self.mode.to_string(),
            category: CATEGORIES[self.category].0,
            size: self.size,
            mpdus,
            throughput_kbps: rounded(packets as f64 * f64::from(payload) * 8.0 / MEASURED_S / 1000.0),
            closed_form_kbps: rounded(expected),
        })
    }
}

/// Stations around a sink, so near that signals take less than a nanosecond, as in ns-3.
fn around_a_sink(senders: u32, params: Params) -> Result<Scenario> {
    params.check()?;
    let mut scenario = Scenario::stationary("rfc", "static", &circle(senders, 0.05))?;
    scenario.spec.channels[0].mac = mac::Config::Edca(params.into());
    scenario.spec.link.queue_length = 500;
    scenario.ranges(250, 550);
    Ok(scenario)
}

/// Categories that saturate stations of 802.11a at 54 Mb/s: those of each station, with bars between the stations.
const STATIONS: [&str; 14] = [
    "BK",
    "BE",
    "VI",
    "VO",
    "VO|BE",
    "VI|BE",
    "VO|VI",
    "BE|BK",
    "VO|VO",
    "VI|VI",
    "BE|BE",
    "BE|BK|VI|VO",
    "VO,BE",
    "VO,VI,BE,BK",
];
const PAYLOAD: u32 = 1472;
const SHARES_S: f64 = 10.0;

#[derive(Serialize)]
struct Share {
    stations: &'static str,
    flow: usize,
    seed: u32,
    throughput_kbps: f64,
}

fn shares(stations: &'static str, seed: u32) -> Result<Vec<Share>> {
    let mut params = Params::of_profile("rfc");
    params.dcf.standard = Amendment::A;
    params.follow("standard");
    params.dcf.rate = "54 Mbps".parse().map_err(|error: String| anyhow!(error))?;
    (params.video.txop_limit, params.voice.txop_limit) = (Span::ZERO, Span::ZERO);
    let own: Vec<Vec<&str>> = stations.split('|').map(|station| station.split(',').collect()).collect();
    let mut scenario = around_a_sink(own.len() as u32, params)?;
    for (station, category) in (1..).zip(&own).flat_map(|(station, own)| own.iter().map(move |it| (station, *it))) {
        scenario.add_cbr(station, 0, 0.01 * f64::from(station), PAYLOAD, 300.0);
        let known = CATEGORIES.iter().find(|it| it.0 == category).ok_or_else(|| anyhow!("no category {category}"))?;
        if let Some(flow) = scenario.spec.flows.last_mut() {
            flow.dscp = known.1;
        }
    }
    scenario.times(1.0, 1.0 + SHARES_S);
    let flows = scenario.run(seed)?.flows;
    let throughput = |packets: u64| rounded(packets as f64 * f64::from(PAYLOAD) * 8.0 / SHARES_S / 1000.0);
    let row = |(flow, packets)| Share { stations, flow, seed, throughput_kbps: throughput(packets) };
    Ok(flows.iter().map(|flow| flow.packets_unique).enumerate().map(row).collect())
}

fn run(root: &Path) -> Result<()> {
    let rows = cases()?.par_iter().map(Case::run).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/edca.csv"), &rows)?;
    let runs: Vec<_> = STATIONS.iter().flat_map(|&stations| (1..=5).map(move |seed| (stations, seed))).collect();
    let rows = runs.par_iter().map(|&(stations, seed)| shares(stations, seed)).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/edca_shares.csv"), &rows.into_iter().flatten().collect::<Vec<_>>())
}

fn compare(root: &Path) -> Result<Vec<Table>> {
    let mut tables = vec![closed_forms(root)?];
    let with = |bound| Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound };
    let theirs = root.join("peers/data/ns3_edca_aggregates.csv");
    for (kind, bandwidth) in [("n, 20 MHz, long", "20"), ("n, 40 MHz, short", "40")] {
        let ours = Figures::read(&root.join("results/edca.csv"))?.only(&[("kind", kind), ("size", "1500")])?;
        let theirs = Figures::read(&theirs)?.only(&[("bandwidth_mhz", bandwidth)])?;
        let title = format!("Frames with several MPDUs ({kind}), against ns-3");
        tables.push(compare_cases(&title, "ns-3", &[("mode", "mode")], &with(Bound::Within(0.02)), &ours, &theirs)?);
    }
    let (ours, theirs) = ("results/edca_shares.csv", "peers/data/ns3_edca_shares.csv");
    let keys = [("stations", "categories of each station"), ("flow", "flow")];
    let measure = with(Bound::WithinOrInterval(0.05));
    let [ours, theirs] = [ours, theirs].map(|file| Figures::read(&root.join(file)));
    tables.push(compare_cases("Saturated categories, against ns-3", "ns-3", &keys, &measure, &ours?, &theirs?)?);
    Ok(tables)
}

/// A line for each kind of channel. Every cell is in the file.
fn closed_forms(root: &Path) -> Result<Table> {
    let figures = Figures::read(&root.join("results/edca.csv"))?;
    let mut lines: Vec<(String, usize, usize, f64)> = Vec::new();
    for row in figures.select(&["kind", "throughput_kbps", "closed_form_kbps"])? {
        let difference = row[1].parse::<f64>()? / row[2].parse::<f64>()? - 1.0;
        if lines.last().is_none_or(|line| line.0 != row[0]) {
            lines.push((row[0].to_owned(), 0, 0, 0.0));
        }
        if let Some((_, cells, met, worst)) = lines.last_mut() {
            *cells += 1;
            *met += usize::from(difference.abs() <= ALLOWED);
            *worst = if difference.abs() > f64::abs(*worst) { difference } else { *worst };
        }
    }
    let mut table = Builder::default();
    table.push_record(["802.11", "cells", "within 0.5 %", "largest difference"]);
    let (mut bounded, mut kept, mut most) = (0, 0, 0.0_f64);
    for (kind, cells, met, worst) in lines {
        table.push_record([kind, cells.to_string(), met.to_string(), format!("{:+.2} %", 100.0 * worst)]);
        (bounded, kept) = (bounded + cells, kept + met);
        most = if worst.abs() > most.abs() { worst } else { most };
    }
    Ok(Table {
        title: "One station with EDCA, four sizes, against the closed form".to_owned(),
        text: table.build().with(Style::markdown()).to_string() + "\n\nEvery cell is in `results/edca.csv`.\n",
        bounded,
        met: kept,
        worst: 100.0 * most,
    })
}
