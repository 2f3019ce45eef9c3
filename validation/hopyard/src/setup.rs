//! The peers' scenarios, built for Hopyard.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use hopyard_engine::units::{Bytes, Distance, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::mac::dcf::Amendment;
use hopyard_model::mobility::files::Reading;
use hopyard_model::mobility::{self, Movements, Position};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::phy::mode::Name;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::world::{self, FlowSpec, NodeSpec, Spec, Transport, Watch};
use hopyard_model::{app, mac, phy, routing};

/// A scenario, with its profile.
#[derive(Clone, Debug)]
pub struct Scenario {
    profile: &'static str,
    /// What the world is built from.
    pub spec: Spec,
}

impl Scenario {
    /// Nodes at these places that stay there.
    pub fn stationary(profile: &'static str, protocol: &str, places: &[(f64, f64)]) -> Result<Self> {
        let routing = routing::Config::of_profile(protocol, profile)?;
        let node = |&(x, y): &(f64, f64)| NodeSpec::stationary(Position::ground(x, y), routing.clone());
        Ok(Self::of_nodes(profile, places.iter().map(node).collect()))
    }

    /// As many nodes as a movement file has, which move as it says.
    pub fn moving(profile: &'static str, protocol: &str, file: &Path) -> Result<Self> {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
        let movements = Arc::new(Movements::read(&name, &bytes, &Reading::default())?);
        let mut mobility = mobility::Config::of_profile("movement_file", profile)?;
        if let mobility::Config::MovementFile(params) = &mut mobility {
            params.path = name;
        }
        let routing = routing::Config::of_profile(protocol, profile)?;
        let nodes = (0..movements.len())
            .map(|_| NodeSpec {
                mobility: mobility.clone(),
                movements: Some(Arc::clone(&movements)),
                ..NodeSpec::stationary(Position::default(), routing.clone())
            })
            .collect();
        Ok(Self::of_nodes(profile, nodes))
    }

    fn of_nodes(profile: &'static str, nodes: Vec<NodeSpec>) -> Self {
        let duration = Span::from_secs(360);
        Self { profile, spec: Spec { duration, nodes, ..Spec::network(profile) } }
    }

    /// Changes the parameters of DCF.
    pub fn dcf(&mut self, change: impl FnOnce(&mut mac::dcf::Params)) {
        let mac::Config::Dcf(params) = &mut self.spec.channels[0].mac else { panic!("the experiment has another MAC") };
        change(params);
    }

    /// Sets data rate and the use of RTS.
    pub fn rate(&mut self, mbps: u32, rts: bool) {
        self.dcf(|dcf| {
            dcf.rate = Rate::from_bps(u64::from(mbps) * 1_000_000).into();
            dcf.rts_threshold = Bytes::new(if rts { 0 } else { 100_000 });
        });
    }

    /// Sets the mode of data in an amendment; `change` comes before the mode.
    pub fn mode(&mut self, standard: Amendment, mode: Name, change: impl FnOnce(&mut mac::dcf::Params)) -> Result<()> {
        let mut params = mac::dcf::Params::of_amendment(self.profile, standard);
        change(&mut params);
        params.rate = mode;
        params.check()?;
        self.dcf(|dcf| *dcf = params);
        Ok(())
    }

    /// Sets the ranges in metres.
    pub fn ranges(&mut self, receive: u32, sense: u32) {
        self.spec.channels[0].radio.receive = phy::Sensitivity::Range(Distance::new(f64::from(receive))).into();
        self.spec.channels[0].radio.sense = phy::Sensitivity::Range(Distance::new(f64::from(sense)));
    }

    /// Adds datagrams, each interval up to half longer or shorter.
    pub fn add_cbr(&mut self, from: u32, to: u32, start: f64, payload: u32, interval_us: f64) {
        let mut params = app::cbr::Params::of_profile(self.profile);
        params.packet_size = Bytes::new(u64::from(payload));
        params.interval = Span::from_secs_f64(interval_us * 1e-6);
        params.jitter = 1.0;
        self.spec.flows.push(FlowSpec {
            from: NodeId(from),
            to: NodeId(to),
            start: at(start),
            stop: Time::NEVER,
            traffic: app::Config::Cbr(params.into()),
            label: String::new(),
            transport: Transport::Udp,
            dscp: 0,
        });
    }

    /// Makes the intervals of all datagrams the same.
    pub fn even_intervals(&mut self) {
        for flow in &mut self.spec.flows {
            if let app::Config::Cbr(params) = &mut flow.traffic {
                params.jitter = 0.0;
            }
        }
    }

    /// Adds a transfer without end; the variant is named as in ns-2 or in Hopyard.
    pub fn add_tcp(
        &mut self,
        from: u32,
        to: u32,
        start: f64,
        variant: &str,
        change: impl FnOnce(&mut tcp::Params),
    ) -> Result<()> {
        let mut params = tcp::Params::of_profile(self.profile);
        change(&mut params);
        let name = match variant {
            "Sack1" => "sack".to_owned(),
            "TcpNewReno" => "newreno".to_owned(),
            "TcpCubic" => "cubic".to_owned(),
            "TcpVegas" => "vegas".to_owned(),
            "TcpWestwoodPlus" => "westwood_plus".to_owned(),
            "TcpBbr" => "bbr".to_owned(),
            other => other.to_lowercase(),
        };
        self.spec.flows.push(FlowSpec {
            from: NodeId(from),
            to: NodeId(to),
            start: at(start),
            stop: Time::NEVER,
            traffic: app::Config::of_profile("ftp", self.profile)?,
            label: String::new(),
            transport: Transport::Tcp {
                config: Box::new(tcp::Config {
                    tcp: params,
                    congestion: congestion::Config::of_profile(&name, self.profile)?,
                }),
                acking: acking::Config::of_profile("every", self.profile)?,
            },
            dscp: 0,
        });
        Ok(())
    }

    /// Sets the duration and from when on flows are measured, in seconds.
    pub fn times(&mut self, measure_from: f64, duration: f64) {
        self.spec.measure_from = at(measure_from);
        self.spec.duration = Span::from_secs_f64(duration);
    }

    /// Runs it; runs are counted from 1, as the peers' seeds are.
    pub fn run(&self, run: u32) -> Result<Outcome> {
        let mut spec = self.spec.clone();
        spec.run = u64::from(run);
        world::simulate(&spec, &Watch::default()).map_err(|failure| anyhow!(failure))
    }
}

/// A time in seconds.
fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

/// Places in a row.
pub fn chain(nodes: u32, spacing: f64) -> Vec<(f64, f64)> {
    (0..nodes).map(|i| (f64::from(i) * spacing, 0.0)).collect()
}

/// A place in the middle, and others evenly on a circle around it.
pub fn circle(others: u32, radius: f64) -> Vec<(f64, f64)> {
    let mut places = vec![(0.0, 0.0)];
    places.extend((0..others).map(|i| {
        let angle = f64::from(i) / f64::from(others) * std::f64::consts::TAU;
        (radius * angle.cos(), radius * angle.sin())
    }));
    places
}
