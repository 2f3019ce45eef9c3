//! TCP over chains of 802.11a and n: five senders, AODV and OLSR, beside ns-3.

use std::path::Path;

use anyhow::{Result, anyhow};
use hopyard_engine::units::{Bytes, Frequency, Ratio};
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mac::{self, edca};
use hopyard_model::params::Params as _;
use hopyard_model::phy::propagation;
use hopyard_model::transport::congestion;
use hopyard_model::world::Transport;
use rayon::prelude::*;
use serde::Serialize;

use super::Experiment;
use crate::comparison::{Bound, Measure, Table, compare};
use crate::figures::{self, Figures, rounded};
use crate::setup::{Scenario, chain};

/// One to six hops of OFDM and HT.
pub const CHAINS: Experiment = Experiment {
    name: "chains",
    title: "TCP over 1 to 6 hops of 802.11a and n",
    run: |root, _| run(root),
    compare: compare_all,
    needs: &["chains.csv"],
};

const SENDERS: [&str; 5] = ["TcpNewReno", "TcpCubic", "TcpVegas", "TcpWestwoodPlus", "TcpBbr"];
/// As many tries as a frame needs, as ns-3 gives it.
const PERSISTENT: u32 = 1000;

/// One run, as a row.
#[derive(Clone, Serialize)]
pub(super) struct Row {
    pub configuration: &'static str,
    pub standard: &'static str,
    pub routing: &'static str,
    pub tcp: &'static str,
    pub hops: u32,
    pub run: u32,
    pub goodput_kbps: f64,
}

impl Row {
    /// The row with the goodput of its run.
    pub fn simulated(mut self) -> Result<Self> {
        let mut scenario = Scenario::stationary("rfc", self.routing, &chain(self.hops + 1, 200.0))?;
        let tries = if self.configuration == "persistent" { PERSISTENT } else { 7 };
        let mode = if self.standard == "n" { "mcs3" } else { "24 Mbps" };
        let mode = mode.parse().map_err(|problem: String| anyhow!(problem))?;
        if self.standard == "n" {
            let mut params = edca::Params::of_profile("rfc");
            params.dcf.standard = Amendment::N;
            params.follow("standard");
            (params.dcf.rate, params.dcf.short_retry_limit, params.mpdu_retry_limit) = (mode, tries, tries);
            params.check()?;
            scenario.spec.channels[0].mac = mac::Config::Edca(params.into());
        } else {
            scenario.mode(Amendment::A, mode, |dcf| dcf.short_retry_limit = tries)?;
        }
        scenario.ranges(250, 550);
        let channel = &mut scenario.spec.channels[0];
        // ns-3's receivers never leave a frame whose preamble they have found.
        channel.radio.capture = Ratio::from_db(300.0);
        if let propagation::Config::TwoRayGround(params) = &mut channel.propagation {
            params.frequency = Frequency::new(914e6);
        }
        scenario.add_tcp(0, self.hops, 20.0, self.tcp, |tcp| {
            tcp.segment_size = Bytes::new(1460);
            tcp.window = 32;
            tcp.initial_window = 2;
            tcp.timestamps = false;
        })?;
        if let Transport::Tcp { config, .. } = &mut scenario.spec.flows[0].transport {
            config.congestion = congestion::Config::of_profile(config.congestion.name(), "ns3")?;
            if let congestion::Config::Vegas(params) = &mut config.congestion {
                (params.alpha, params.beta) = (4.0, 4.0);
            }
        }
        scenario.times(20.0, 30.0);
        self.goodput_kbps = rounded(scenario.run(self.run)?.flows[0].goodput_kbps);
        Ok(self)
    }
}

/// The runs: all senders with as many tries as are needed, and `NewReno` over 802.11a with the usual limit.
fn cases() -> Vec<Row> {
    let every = ["a", "n"].into_iter().flat_map(|standard| SENDERS.map(|tcp| ("persistent", standard, tcp)));
    let all = every.chain([("limited", "a", "TcpNewReno")]);
    let row = |(configuration, standard, tcp), routing, hops, run| Row {
        configuration,
        standard,
        routing,
        tcp,
        hops,
        run,
        goodput_kbps: 0.0,
    };
    all.flat_map(|what| {
        let places = ["aodv", "olsr"].into_iter().flat_map(|routing| (1..=6).map(move |hops| (routing, hops)));
        places.flat_map(move |(routing, hops)| (1..=5).map(move |run| row(what, routing, hops, run)))
    })
    .collect()
}

fn run(root: &Path) -> Result<()> {
    let rows = cases().into_par_iter().map(Row::simulated).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/chains.csv"), &rows)
}

fn compare_all(root: &Path) -> Result<Vec<Table>> {
    let of =
        |file: &str, configuration: &str| Figures::read(&root.join(file))?.only(&[("configuration", configuration)]);
    // ns-3's BBR stands still in most runs: it sets a rate of 1.7 kbit/s 18 ms after the start.
    let bbr = |file: &str| Figures::read(&root.join(file))?.only(&[("tcp", "TcpBbr")]);
    let with = |bound| Measure { column: "goodput_kbps", title: "goodput, kbit/s", bound };
    let keys = [("standard", "802.11"), ("routing", "routing"), ("tcp", "TCP"), ("hops", "hops")];
    let (ours, theirs) = ("results/chains.csv", "peers/data/ns3_chains.csv");
    let mut tables = Vec::new();
    for (title, configuration, habits, bound) in [
        ("Chains of OFDM and HT, tries without limit", "persistent", "persistent", Bound::WithinOrInterval(0.05)),
        ("Chains of OFDM, seven tries", "limited", "limited", Bound::Shown),
        ("Chains of OFDM, seven tries, ns-3 with its early answers", "limited", "at once", Bound::Shown),
    ] {
        let [ours, theirs] = [of(ours, configuration)?, of(theirs, habits)?].map(|it| it.without("tcp", "TcpBbr"));
        tables.push(compare(title, "ns-3", &keys, &with(bound), &ours?, &theirs?)?);
    }
    let title = "Chains of OFDM and HT, BBR, which stands still in ns-3";
    tables.push(compare(title, "ns-3", &keys, &with(Bound::Shown), &bbr(ours)?, &bbr(theirs)?)?);
    Ok(tables)
}
