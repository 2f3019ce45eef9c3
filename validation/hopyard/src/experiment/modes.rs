//! Modes of OFDM, HT and VHT: one saturated station in each against arithmetic; stations of 802.11a against Bianchi's
//! model and ns-3; lost frames against ns-3.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Frequency, Rate, Ratio};
use hopyard_model::mac::dcf::{Amendment, Params};
use hopyard_model::params::Params as _;
use hopyard_model::phy::Reception;
use hopyard_model::phy::error_rate::chunk_success;
use hopyard_model::phy::mode::{Band, Carrier, Format, Guard, Mode, Name};
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare, digits};
use crate::figures::{self, Figures, rounded};
use crate::saturation::{Dcf, Freezing};
use crate::setup::{Scenario, circle};

/// One saturated station in every mode.
pub const ONE_STATION: Experiment = Experiment {
    name: "modes",
    title: "One saturated station in every mode of OFDM, HT and VHT",
    run: |root, _| run_one_station(root),
    compare: compare_one_station,
    needs: &["modes.csv"],
};

/// Two to twenty stations of 802.11a, and lost frames.
pub const CONTENTION: Experiment = Experiment {
    name: "ofdm",
    title: "Stations of 802.11a",
    run: |root, _| run_contention(root),
    compare: compare_contention,
    needs: &["ofdm.csv", "ofdm_theory.csv"],
};

/// Sizes of packets with their IP header.
const SIZES: [u32; 4] = [100, 500, 1000, 1500];
/// IP and UDP.
const HEADERS: u32 = 28;
/// Bytes of MAC header, LLC/SNAP and frame check.
const OVERHEAD: u64 = 36;
/// The standard deviation of a cell's mean that the draws of back-offs leave.
const DEVIATION: f64 = 0.0011;
/// The difference that is allowed.
const ALLOWED: f64 = 0.005;

/// A kind of channel: the amendment, and what frames have in common.
#[derive(Clone, Copy)]
struct Channel {
    amendment: Amendment,
    band: Band,
    megahertz: f64,
    guard: Guard,
}

/// Every kind of channel. On one of HT or VHT, only their modes are of interest.
fn channels() -> Vec<Channel> {
    use {Amendment as Of, Band as On, Guard as With};
    let with = |amendment, band, megahertz, guard| Channel { amendment, band, megahertz, guard };
    let mut channels = vec![with(Of::G, On::Low, 20.0, With::Long)];
    channels.extend([20.0, 10.0, 5.0].map(|megahertz| with(Of::A, On::High, megahertz, With::Long)));
    for guard in [With::Long, With::Short] {
        for band in [On::High, On::Low] {
            channels.extend([20.0, 40.0].map(|megahertz| with(Of::N, band, megahertz, guard)));
        }
        channels.extend([20.0, 40.0, 80.0].map(|megahertz| with(Of::Ac, On::High, megahertz, guard)));
    }
    channels
}

impl Channel {
    fn carrier(&self) -> Carrier {
        Carrier { band: self.band, bandwidth: Frequency::new(self.megahertz * 1e6), guard: self.guard }
    }

    fn modes(self) -> impl Iterator<Item = &'static Mode> {
        Mode::on(self.carrier()).filter(move |mode| match mode.format {
            Format::Dsss(_) => false,
            Format::Ofdm => matches!(self.amendment, Amendment::A | Amendment::G),
            Format::Ht { .. } => self.amendment == Amendment::N,
            Format::Vht { .. } => self.amendment == Amendment::Ac,
        })
    }

    fn change(self, params: &mut Params) {
        (params.band, params.bandwidth) = (self.band, Frequency::new(self.megahertz * 1e6));
        params.follow("bandwidth");
        params.guard_interval = self.guard;
    }

    /// The closed form: SIFS and slot of the channel, and the ACK at 24, 12 or 6 Mb/s.
    fn dcf(self, data: &'static Mode) -> Result<Dcf> {
        let us = Span::from_micros;
        let (slot, sifs, clock) = match (self.band, self.megahertz as u32) {
            (Band::Low, _) => (us(20), us(10), 1.0),
            (_, 5) => (us(21), us(64), 4.0),
            (_, 10) => (us(13), us(32), 2.0),
            _ => (us(9), us(16), 1.0),
        };
        let fastest = data.reference_rate().bps() as f64 * clock;
        let answer = [24e6, 12e6, 6e6].into_iter().find(|rate| *rate <= fastest).unwrap_or(6e6) / clock;
        let carrier =
            Carrier { bandwidth: Frequency::new(self.megahertz.min(20.0) * 1e6), guard: Guard::Long, ..self.carrier() };
        let of_rate = |mode: &&Mode| mode.name() == Name::Rate(Rate::from_bps(answer as u64));
        let answer = Mode::on(carrier).find(of_rate).ok_or_else(|| anyhow!("no mode of {answer} b/s"))?;
        let difs = sifs + slot * 2;
        Ok(Dcf {
            slot,
            sifs,
            difs,
            // EIFS: another station may be sending an ACK at the slowest basic rate.
            collision_recovery: sifs + difs + Mode::on(carrier).next().map_or(Span::ZERO, |mode| mode.airtime(14)),
            modes: Some((data, answer)),
            overhead: Bytes::new(OVERHEAD),
            first_draws: 16,
            freezing: Freezing::Stops,
            ..Dcf::ieee80211b(data.rate(), answer.rate(), false, false)
        })
    }
}

#[derive(Serialize)]
struct Cell {
    standard: String,
    band: &'static str,
    bandwidth_mhz: f64,
    guard: &'static str,
    mode: String,
    size: u32,
    throughput_kbps: f64,
    closed_form_kbps: f64,
}

fn one_station(channel: Channel, mode: &'static Mode, size: u32) -> Result<Cell> {
    let payload = size - HEADERS;
    let dcf = channel.dcf(mode)?;
    let expected = dcf.one_station(size, payload);
    let cycle = f64::from(payload) * 8.0 / expected;
    // The standard deviation of an even draw.
    let spread = f64::from(dcf.first_draws) / 12.0_f64.sqrt() * dcf.slot.seconds();
    let measured = cycle * (spread / (DEVIATION * cycle)).powi(2).max(5000.0);
    let mut scenario = Scenario::stationary("rfc", "static", &[(0.0, 0.0), (3.0, 0.0)])?;
    scenario.mode(channel.amendment, mode.name(), |dcf| channel.change(dcf))?;
    scenario.ranges(250, 550);
    scenario.add_cbr(1, 0, 0.0, payload, 0.8e6 * cycle);
    scenario.times(0.1, 0.1 + measured);
    let packets = scenario.run(1)?.flows[0].packets_unique;
    Ok(Cell {
        standard: channel.amendment.to_string().replace('"', ""),
        band: if channel.band == Band::Low { "2.4 GHz" } else { "5 GHz" },
        bandwidth_mhz: channel.megahertz,
        guard: if channel.guard == Guard::Long { "long" } else { "short" },
        mode: mode.name().to_string(),
        size,
        throughput_kbps: rounded(packets as f64 * f64::from(payload) * 8.0 / measured / 1000.0),
        closed_form_kbps: rounded(expected / 1000.0),
    })
}

fn run_one_station(root: &Path) -> Result<()> {
    let modes = channels().into_iter().flat_map(|channel| channel.modes().map(move |mode| (channel, mode)));
    let cells: Vec<_> = modes.flat_map(|(channel, mode)| SIZES.map(|size| (channel, mode, size))).collect();
    let rows = cells.par_iter().map(|&(channel, mode, size)| one_station(channel, mode, size));
    figures::write(&root.join("results/modes.csv"), &rows.collect::<Result<Vec<_>>>()?)
}

/// A line for each kind of channel. Every cell is in the file.
fn compare_one_station(root: &Path) -> Result<Vec<Table>> {
    let figures = Figures::read(&root.join("results/modes.csv"))?;
    let columns = ["standard", "band", "bandwidth_mhz", "guard", "throughput_kbps", "closed_form_kbps"];
    let mut lines: Vec<(Vec<String>, usize, usize, f64)> = Vec::new();
    for row in figures.select(&columns)? {
        let key: Vec<String> = row[..4].iter().map(|&part| part.to_owned()).collect();
        let difference = row[4].parse::<f64>()? / row[5].parse::<f64>()? - 1.0;
        if lines.last().is_none_or(|line| line.0 != key) {
            lines.push((key, 0, 0, 0.0));
        }
        if let Some((_, cells, met, worst)) = lines.last_mut() {
            *cells += 1;
            *met += usize::from(difference.abs() <= ALLOWED);
            *worst = if difference.abs() > f64::abs(*worst) { difference } else { *worst };
        }
    }
    let mut table = Builder::default();
    table.push_record(["standard", "band", "MHz", "guard", "cells", "within 0.5 %", "largest difference"]);
    let (mut bounded, mut kept, mut most) = (0, 0, 0.0_f64);
    for (key, cells, met, worst) in lines {
        let figures = [cells.to_string(), met.to_string(), format!("{:+.2} %", 100.0 * worst)];
        table.push_record(key.into_iter().chain(figures));
        (bounded, kept) = (bounded + cells, kept + met);
        most = if worst.abs() > most.abs() { worst } else { most };
    }
    Ok(vec![Table {
        title: "One station in every mode, four sizes, against the closed form".to_owned(),
        text: table.build().with(Style::markdown()).to_string() + "\n\nEvery cell is in `results/modes.csv`.\n",
        bounded,
        met: kept,
        worst: 100.0 * most,
    }])
}

const PAYLOAD: u32 = 1472;
const MEASURED_S: f64 = 10.0;
const RATES: [u32; 3] = [6, 24, 54];
const SENDERS: [u32; 5] = [1, 2, 5, 10, 20];

#[derive(Serialize)]
struct Row {
    reception: &'static str,
    rate_mbps: u32,
    senders: u32,
    seed: u32,
    throughput_kbps: f64,
}

const OFDM: Channel = Channel { amendment: Amendment::A, band: Band::High, megahertz: 20.0, guard: Guard::Long };

fn ofdm(rate_mbps: u32) -> Result<&'static Mode> {
    let name = Name::Rate(Rate::from_bps(u64::from(rate_mbps) * 1_000_000));
    OFDM.modes().find(|mode| mode.name() == name).ok_or_else(|| anyhow!("no mode of {rate_mbps} Mb/s"))
}

fn theory(rate_mbps: u32, senders: u32) -> Result<f64> {
    let (dcf, size) = (OFDM.dcf(ofdm(rate_mbps)?)?, PAYLOAD + HEADERS);
    Ok(match senders {
        1 => dcf.one_station(size, PAYLOAD),
        _ => dcf.saturation(senders, size, PAYLOAD).throughput,
    } / 1000.0)
}

fn contention(reception: Reception, rate_mbps: u32, senders: u32, seed: u32) -> Result<Row> {
    let mut scenario = Scenario::stationary("rfc", "static", &circle(senders, 10.0))?;
    scenario.mode(Amendment::A, ofdm(rate_mbps)?.name(), |_| {})?;
    scenario.ranges(250, 550);
    scenario.spec.channels[0].radio.reception = reception;
    let alone_us = f64::from(PAYLOAD) * 8e3 / theory(rate_mbps, 1)?;
    for sender in 1..=senders {
        scenario.add_cbr(sender, 0, 1.0 + 0.01 * f64::from(sender), PAYLOAD, 0.8 * alone_us);
    }
    scenario.times(2.0, 2.0 + MEASURED_S);
    let packets: u64 = scenario.run(seed)?.flows.iter().map(|flow| flow.packets_unique).sum();
    let throughput_kbps = rounded(packets as f64 * f64::from(PAYLOAD) * 8.0 / MEASURED_S / 1000.0);
    let reception = if reception == Reception::Threshold { "threshold" } else { "sinr" };
    Ok(Row { reception, rate_mbps, senders, seed, throughput_kbps })
}

fn run_contention(root: &Path) -> Result<()> {
    let cells: Vec<_> = RATES.iter().flat_map(|&rate| SENDERS.map(|senders| (rate, senders))).collect();
    let expected = cells.iter().map(|&(rate_mbps, senders)| {
        let throughput_kbps = rounded(theory(rate_mbps, senders)?);
        Ok(Row { reception: "threshold", rate_mbps, senders, seed: 0, throughput_kbps })
    });
    let expected = expected.collect::<Result<Vec<_>>>()?;
    let kinds = [Reception::Threshold, Reception::Sinr];
    let runs: Vec<_> = kinds
        .into_iter()
        .flat_map(|kind| cells.iter().flat_map(move |&cell| (1..=3).map(move |seed| (kind, cell, seed))))
        .collect();
    let rows = runs.par_iter().map(|&(kind, (rate, senders), seed)| contention(kind, rate, senders, seed));
    figures::write(&root.join("results/ofdm.csv"), &rows.collect::<Result<Vec<_>>>()?)?;
    figures::write(&root.join("results/ofdm_theory.csv"), &expected)
}

fn compare_contention(root: &Path) -> Result<Vec<Table>> {
    let ours = |kind| Figures::read(&root.join("results/ofdm.csv"))?.only(&[("reception", kind)]);
    let theory = Figures::read(&root.join("results/ofdm_theory.csv"))?;
    let ns3 = Figures::read(&root.join("peers/data/ns3_ofdm.csv"))?;
    let keys = [("senders", "stations"), ("rate_mbps", "rate, Mb/s")];
    let measure = Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound: Bound::Within(0.03) };
    let title = "Stations of 802.11a with reception by threshold, against closed forms";
    Ok(vec![
        compare(title, "closed form", &keys, &measure, &ours("threshold")?, &theory)?,
        compare("Stations of 802.11a against ns-3", "ns-3", &keys, &measure, &ours("sinr")?, &ns3)?,
        lost_frames(root)?,
    ])
}

/// The shares of frames that ns-3 loses, and the probability in Hopyard that header and body are not right.
fn lost_frames(root: &Path) -> Result<Table> {
    let ns3 = Figures::read(&root.join("peers/data/ns3_ofdm_per.csv"))?;
    let mut text = Builder::default();
    text.push_record(["rate, Mb/s", "SNR, dB", "frames", "ns-3", "Hopyard", "difference", "met"]);
    let (mut bounded, mut kept, mut worst) = (0, 0, 0.0_f64);
    for row in ns3.select(&["rate_mbps", "snr_db", "bytes", "frames", "per"])? {
        let mode = ofdm(row[0].parse()?)?;
        let (bytes, frames, per): (u32, f64, f64) = (row[2].parse()?, row[3].parse()?, row[4].parse()?);
        let sinr = Ratio::from_db(row[1].parse()?).factor();
        let bits = mode.body(bytes).seconds() * mode.rate().bps() as f64;
        let expected = 1.0 - chunk_success(&mode.header, sinr, 24.0) * chunk_success(&mode.body, sinr, bits);
        // 2 points, or three standard errors of ns-3's share.
        let error = 3.0 * (expected * (1.0 - expected) / frames).sqrt();
        let difference = expected - per;
        let met = difference.abs() <= error.max(0.02);
        (bounded, kept) = (bounded + 1, kept + usize::from(met));
        worst = if difference.abs() > worst.abs() { difference } else { worst };
        let figures = [per, expected].map(digits);
        let cells = [row[0], row[1], row[3]].map(str::to_owned).into_iter().chain(figures);
        let met = if met { "yes" } else { "**no**" }.to_owned();
        text.push_record(cells.chain([format!("{:+.2} points", 100.0 * difference), met]));
    }
    let title = "Frames of 802.11a lost to noise: share, against ns-3".to_owned();
    let text = text.build().with(Style::markdown()).to_string();
    Ok(Table { title, text, bounded, met: kept, worst: 100.0 * worst })
}
