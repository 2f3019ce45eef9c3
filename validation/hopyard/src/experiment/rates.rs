//! Rate control: throughput of a saturated link by the ratio of signal to noise, beside the best fixed rate and ns-3.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::units::{Distance, Power, Ratio};
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mac::{self, edca, rate_control};
use hopyard_model::params::Params as _;
use hopyard_model::phy::Sensitivity;
use hopyard_model::phy::error_rate::thermal_noise;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::Scenario;

/// One link, by its ratio of signal to noise.
pub const RATES: Experiment = Experiment {
    name: "rates",
    title: "Rate control on a link with errors",
    run: |root, _| run(root),
    compare: compare_all,
    needs: &["rates.csv"],
};

/// UDP payload of packets of 1000 bytes.
const PAYLOAD: u32 = 972;
const MEASURED_S: f64 = 10.0;
const CONTROLS: [&str; 4] = ["arf", "aarf", "ideal", "minstrel_ht"];
/// The standard whose stations use EDCA, and send frames with several MPDUs.
const AGGREGATES: &str = "n, A-MPDU";
const HT: [&str; 8] = ["mcs0", "mcs1", "mcs2", "mcs3", "mcs4", "mcs5", "mcs6", "mcs7"];
/// The standards, with the modes of their eight rates.
const STANDARDS: [(&str, Amendment, [&str; 8]); 3] = [
    ("a", Amendment::A, ["6 Mbps", "9 Mbps", "12 Mbps", "18 Mbps", "24 Mbps", "36 Mbps", "48 Mbps", "54 Mbps"]),
    ("n", Amendment::N, HT),
    (AGGREGATES, Amendment::N, HT),
];

/// The ratios of signal to noise, in dB.
fn ratios() -> impl Iterator<Item = f64> {
    (2..=12).map(|step| 2.5 * f64::from(step))
}

#[derive(Serialize)]
struct Row {
    standard: &'static str,
    control: &'static str,
    snr_db: f64,
    seed: u32,
    throughput_kbps: f64,
}

/// The throughput of a link at 20 MHz, in kbit/s.
fn throughput(
    (standard, amendment): (&str, Amendment),
    mode: &str,
    control: &str,
    snr_db: f64,
    seed: u32,
) -> Result<f64> {
    let mut scenario = Scenario::stationary("rfc", "static", &[(0.0, 0.0), (50.0, 0.0)])?;
    let mode = mode.parse().map_err(|problem: String| anyhow!(problem))?;
    scenario.mode(amendment, mode, |_| {})?;
    let mut bandwidth = None;
    scenario.dcf(|dcf| bandwidth = Some(dcf.bandwidth));
    let noise = thermal_noise(Ratio::from_db(7.0), bandwidth.ok_or_else(|| anyhow!("no DCF"))?).dbm();
    let channel = &mut scenario.spec.channels[0];
    let gain = channel.propagation.channel().threshold_for(Power::from_watts(1.0), Distance::new(50.0)).watts();
    channel.radio.transmit_power = Power::from_watts(Power::from_dbm(noise + snr_db).watts() / gain);
    let weakest = Sensitivity::Threshold(Power::from_dbm(-101.0));
    (channel.radio.receive, channel.radio.sense) = (weakest.into(), weakest);
    channel.rates = rate_control::Config::of_profile(control, "rfc")?;
    if standard == AGGREGATES {
        let mut params = edca::Params::of_profile("rfc");
        params.dcf.standard = amendment;
        params.follow("standard");
        params.dcf.rate = mode;
        channel.mac = mac::Config::Edca(params.into());
        scenario.spec.link.queue_length = 500;
    }
    scenario.add_cbr(0, 1, 0.0, PAYLOAD, if standard == AGGREGATES { 110.0 } else { 180.0 });
    scenario.times(2.0, 2.0 + MEASURED_S);
    let packets = scenario.run(seed)?.flows[0].packets_unique;
    Ok(rounded(packets as f64 * f64::from(PAYLOAD) * 8.0 / MEASURED_S / 1000.0))
}

fn run(root: &Path) -> Result<()> {
    let cells = STANDARDS.iter().flat_map(|it| ratios().flat_map(move |snr| (1..=3).map(move |seed| (it, snr, seed))));
    let cells: Vec<_> = cells.collect();
    let rows = cells.par_iter().map(|&(&(standard, amendment, modes), snr_db, seed)| {
        let row = |control, throughput_kbps| Row { standard, control, snr_db, seed, throughput_kbps };
        let mut best = 0.0_f64;
        for mode in modes {
            best = best.max(throughput((standard, amendment), mode, "fixed", snr_db, seed)?);
        }
        let mut rows = vec![row("best fixed", best)];
        for control in CONTROLS {
            rows.push(row(control, throughput((standard, amendment), modes[0], control, snr_db, seed)?));
        }
        Ok(rows)
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/rates.csv"), &rows.into_iter().flatten().collect::<Vec<_>>())
}

fn compare_all(root: &Path) -> Result<Vec<Table>> {
    let of = |control: &str| Figures::read(&root.join("results/rates.csv"))?.only(&[("control", control)]);
    let keys = [("standard", "802.11"), ("snr_db", "SNR, dB")];
    let with = |bound| Measure { column: "throughput_kbps", title: "throughput, kbit/s", bound };
    let best = of("best fixed")?;
    let mut tables = Vec::new();
    for control in CONTROLS {
        let bound = if control == "minstrel_ht" { Bound::Within(0.1) } else { Bound::Shown };
        let title = format!("`{control}` against the best fixed rate");
        tables.push(compare(&title, "best fixed", &keys, &with(bound), &of(control)?, &best)?);
    }
    for control in CONTROLS {
        let bound = if control == "minstrel_ht" { Bound::Shown } else { Bound::WithinOrInterval(0.05) };
        let theirs = Figures::read(&root.join("peers/data/ns3_rates.csv"))?.only(&[("control", control)])?;
        let title = format!("`{control}` against ns-3");
        tables.push(compare(&title, "ns-3", &keys, &with(bound), &of(control)?, &theirs)?);
    }
    Ok(tables)
}
