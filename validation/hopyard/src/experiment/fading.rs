//! Fading links of one hop beside ns-3: the share of frames that arrive, and rate control.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Coordinate, Distance, Frequency, Power, Ratio, Speed};
use hopyard_model::link::arp::Resolution;
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mac::{self, edca, rate_control};
use hopyard_model::mobility;
use hopyard_model::params::Params as _;
use hopyard_model::phy::fading::{self, Coherence};
use hopyard_model::phy::{Sensitivity, propagation};
use rayon::prelude::*;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare, digits};
use crate::figures::{self, Figures, rounded};
use crate::setup::Scenario;

/// The share of frames that arrive, by distance.
pub const DELIVERY: Experiment = Experiment {
    name: "fading",
    title: "Frames that arrive over fading links",
    run: |root, _| run_delivery(root),
    compare: |root| Ok(vec![compare_delivery(root)?]),
    needs: &["fading.csv"],
};

/// Rate control, by distance.
pub const RATES: Experiment = Experiment {
    name: "fading_rates",
    title: "Rate control over fading links",
    run: |root, _| run_rates(root),
    compare: compare_rates,
    needs: &["fading_rates.csv"],
};

/// UDP payload of packets of 1000 bytes.
const PAYLOAD: u32 = 972;
/// The speed in metres a second of a node whose signal has a Doppler frequency of 10 Hz: ten wavelengths of 2.412 GHz.
const SPEED: f64 = 1.243;

/// The model of fading, by its name in ns-3's runs.
fn config(kind: &str) -> Result<fading::Config> {
    let name = if kind == "jakes" { "rayleigh" } else { kind };
    let mut config = fading::Config::of_profile(name, "rfc")?;
    if let fading::Config::Rayleigh(params) = &mut config
        && kind == "rayleigh"
    {
        params.coherence = Coherence::Time(Span::ZERO);
    }
    Ok(config)
}

/// Two radios so many metres apart, over ns-3's law of path loss and with its power.
fn link(kind: &str, metres: f64) -> Result<Scenario> {
    let mut scenario = Scenario::stationary("rfc", "static", &[(metres, 0.0), (0.0, 0.0)])?;
    if kind == "jakes" {
        // The sender moves around the receiver, so that the paths change and the distance does not.
        let mut circle = mobility::Config::of_profile("circuit", "rfc")?;
        if let mobility::Config::Circuit(params) = &mut circle {
            (params.z, params.radius) = (Coordinate::new(0.0), Distance::new(metres));
            params.speed = Speed::new(SPEED);
        }
        scenario.spec.nodes[0].mobility = circle;
    }
    scenario.spec.link.arp.resolution = Resolution::Off;
    let channel = &mut scenario.spec.channels[0];
    channel.fading = config(kind)?;
    channel.propagation = propagation::Config::of_profile("log_distance", "rfc")?;
    if let propagation::Config::LogDistance(params) = &mut channel.propagation {
        // 46.6777 dB at a metre.
        (params.frequency, params.sigma) = (Frequency::new(5.146_31e9), Ratio::from_db(0.0));
    }
    channel.radio.transmit_power = Power::from_dbm(16.0206);
    let weakest = Sensitivity::Threshold(Power::from_dbm(-101.0));
    (channel.radio.receive, channel.radio.sense) = (weakest.into(), weakest);
    Ok(scenario)
}

#[derive(Serialize)]
struct Share {
    fading: &'static str,
    rate_mbps: u32,
    metres: u32,
    frames: u64,
    arrived: u64,
}

fn share(fading: &'static str, rate_mbps: u32, metres: u32) -> Result<Share> {
    let mut scenario = link(fading, f64::from(metres))?;
    let mode = format!("{rate_mbps} Mbps").parse().map_err(|problem: String| anyhow!(problem))?;
    // Each frame is sent once, like ns-3's broadcasts.
    scenario.mode(Amendment::A, mode, |dcf| dcf.short_retry_limit = 1)?;
    scenario.add_cbr(0, 1, 0.1, PAYLOAD, 3000.0);
    scenario.times(1.0, 31.0);
    let outcome = scenario.run(1)?;
    let flow = &outcome.flows[0];
    Ok(Share { fading, rate_mbps, metres, frames: flow.packets_sent, arrived: flow.packets_unique })
}

/// The rates, each with a distance at which about half of the frames arrive without fading.
const MEDIANS: [(u32, f64); 3] = [(6, 96.0), (24, 46.0), (54, 23.0)];
/// The distances, as parts of these.
const PARTS: [f64; 6] = [0.5, 0.75, 1.0, 1.25, 1.5, 2.0];

fn run_delivery(root: &Path) -> Result<()> {
    let cells = ["nakagami", "rayleigh"].into_iter().flat_map(|fading| {
        MEDIANS.into_iter().flat_map(move |(rate, median)| PARTS.map(|part| (fading, rate, (median * part) as u32)))
    });
    let cells: Vec<_> = cells.collect();
    let rows = cells.par_iter().map(|&(fading, rate, metres)| share(fading, rate, metres));
    figures::write(&root.join("results/fading.csv"), &rows.collect::<Result<Vec<_>>>()?)
}

fn compare_delivery(root: &Path) -> Result<Table> {
    let columns = ["fading", "rate_mbps", "metres", "frames", "arrived"];
    let rows = |file: &str| Figures::read(&root.join(file));
    let (ours, theirs) = (rows("results/fading.csv")?, rows("peers/data/ns3_fading.csv")?);
    let mut text = Builder::default();
    text.push_record(["fading", "rate, Mb/s", "distance, m", "ns-3", "Hopyard", "difference", "met"]);
    let (mut bounded, mut kept, mut worst) = (0, 0, 0.0_f64);
    for (ours, theirs) in ours.select(&columns)?.zip(theirs.select(&columns)?) {
        anyhow::ensure!(ours[..3] == theirs[..3], "ns-3 has {:?} in the place of {:?}", &theirs[..3], &ours[..3]);
        let share = |row: &[&str]| -> Result<(f64, f64)> {
            let (frames, arrived): (f64, f64) = (row[3].parse()?, row[4].parse()?);
            let share = arrived / frames;
            Ok((share, share * (1.0 - share) / frames))
        };
        let ((our_share, our_variance), (their_share, their_variance)) = (share(&ours)?, share(&theirs)?);
        let difference = our_share - their_share;
        // 2 points, or three standard errors.
        let met = difference.abs() <= 0.02_f64.max(3.0 * (our_variance + their_variance).sqrt());
        (bounded, kept) = (bounded + 1, kept + usize::from(met));
        worst = if difference.abs() > worst.abs() { difference } else { worst };
        let cells = ours[..3].iter().map(|&key| key.to_owned()).chain([their_share, our_share].map(digits));
        let met = if met { "yes" } else { "**no**" }.to_owned();
        text.push_record(cells.chain([format!("{:+.2} points", 100.0 * difference), met]));
    }
    let title = "Frames of 802.11a over fading links: share that arrives, against ns-3".to_owned();
    Ok(Table {
        title,
        text: text.build().with(Style::markdown()).to_string(),
        bounded,
        met: kept,
        worst: 100.0 * worst,
    })
}

const STANDARDS: [&str; 2] = ["n", "n, A-MPDU"];
const CONTROLS: [&str; 3] = ["mcs3", "ideal", "minstrel_ht"];
const DISTANCES: [u32; 5] = [13, 19, 28, 41, 60];
const MEASURED_S: f64 = 4.0;

#[derive(Serialize)]
struct Goodput {
    fading: &'static str,
    standard: &'static str,
    control: &'static str,
    metres: u32,
    run: u32,
    throughput_kbps: f64,
}

fn goodput(
    fading: &'static str,
    standard: &'static str,
    control: &'static str,
    metres: u32,
    run: u32,
) -> Result<Goodput> {
    let mut scenario = link(fading, f64::from(metres))?;
    let mut params = edca::Params::of_profile("rfc");
    params.dcf.standard = Amendment::N;
    params.follow("standard");
    let fixed = if control.starts_with("mcs") { control } else { "mcs7" };
    params.dcf.rate = fixed.parse().map_err(|problem: String| anyhow!(problem))?;
    if standard == "n" {
        params.max_ampdu = Bytes::new(0);
    }
    params.check()?;
    let channel = &mut scenario.spec.channels[0];
    channel.mac = mac::Config::Edca(params.into());
    channel.rates = rate_control::Config::of_profile(if fixed == control { "fixed" } else { control }, "rfc")?;
    scenario.spec.link.queue_length = 500;
    scenario.add_cbr(0, 1, 0.0, PAYLOAD, if standard == "n" { 180.0 } else { 110.0 });
    scenario.times(2.0, 2.0 + MEASURED_S);
    let packets = scenario.run(run)?.flows[0].packets_unique;
    let throughput_kbps = rounded(packets as f64 * f64::from(PAYLOAD) * 8.0 / MEASURED_S / 1000.0);
    Ok(Goodput { fading, standard, control, metres, run, throughput_kbps })
}

fn run_rates(root: &Path) -> Result<()> {
    let fadings = ["nakagami", "rayleigh", "jakes"].into_iter();
    let links = fadings.flat_map(|fading| STANDARDS.into_iter().map(move |standard| (fading, standard)));
    let cells =
        links.flat_map(|link| CONTROLS.into_iter().flat_map(move |it| DISTANCES.map(|metres| (link, it, metres))));
    let cells: Vec<_> = cells.flat_map(|cell| (1..=3).map(move |run| (cell, run))).collect();
    let rows = cells
        .par_iter()
        .map(|&(((fading, standard), control, metres), run)| goodput(fading, standard, control, metres, run));
    figures::write(&root.join("results/fading_rates.csv"), &rows.collect::<Result<Vec<_>>>()?)
}

fn compare_rates(root: &Path) -> Result<Vec<Table>> {
    let keys = [("fading", "fading"), ("standard", "802.11"), ("metres", "distance, m")];
    let mut tables = Vec::new();
    for control in CONTROLS {
        let of = |file: &str| Figures::read(&root.join(file))?.only(&[("control", control)]);
        let bound = if control == "minstrel_ht" { Bound::Shown } else { Bound::WithinOrInterval(0.05) };
        let measure = Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound };
        let (ours, theirs) = (of("results/fading_rates.csv")?, of("peers/data/ns3_fading_rates.csv")?);
        let title = format!("`{control}` over fading links, against ns-3");
        tables.push(compare(&title, "ns-3", &keys, &measure, &ours, &theirs)?);
    }
    Ok(tables)
}
