//! Series: quantities of flows that are sampled at an interval; and the begin of the measuring window.

use super::flow::Sampled;
use super::{Quantity, World};
use crate::clock::Wake;
use crate::observe::{Probe, SeriesRow};
use crate::routing::Routes;
use crate::transport::tcp::TcpSender;

impl<P: Probe> World<P> {
    /// The measuring window begins. Earlier counts are excluded.
    pub(super) fn begin_measuring(&mut self) {
        self.sampling.numbered_before = self.numbered();
        for flow in 0..self.flows.len() {
            self.flows[flow].before = self.counts(flow);
            self.flows[flow].cwnd.restart(self.cx.now);
        }
    }

    /// Takes one sample of every quantity of every flow.
    pub(super) fn sample(&mut self) {
        let now = self.cx.now;
        for flow in 0..self.flows.len() {
            for i in 0..self.sampling.quantities.len() {
                let quantity = self.sampling.quantities[i];
                if let Some(value) = self.value(flow, quantity) {
                    self.sampling.series.push(SeriesRow {
                        flow: flow as u32,
                        time_s: now.seconds(),
                        quantity: quantity.name(),
                        unit: quantity.unit(),
                        value,
                    });
                }
            }
            let meter = &self.flows[flow].meter;
            self.flows[flow].sampled =
                Sampled { delivered: meter.total_delivered(), network: meter.total_network_bytes() };
        }
        self.clock.set(Wake::Sample, now + self.sampling.interval);
    }

    fn value(&self, flow: usize, quantity: Quantity) -> Option<f64> {
        let it = &self.flows[flow];
        let state = self.sender(flow).map(TcpSender::state);
        let kbps = |bytes: u64| bytes as f64 * 8.0 / self.sampling.interval.seconds() / 1e3;
        match quantity {
            Quantity::Cwnd => state.map(|state| state.cwnd),
            Quantity::Ssthresh => state.map(|state| state.ssthresh).filter(|value| value.is_finite()),
            Quantity::Srtt => state.and_then(|state| state.srtt).map(|srtt| srtt.seconds()),
            Quantity::Rto => state.map(|state| state.rto.seconds()),
            Quantity::Goodput => Some(kbps(it.meter.total_delivered() - it.sampled.delivered)),
            Quantity::Throughput => Some(kbps(it.meter.total_network_bytes() - it.sampled.network)),
            Quantity::PacingGap => {
                state.map(|state| state.pacing_gap).filter(|gap| !gap.is_zero()).map(|gap| gap.seconds() * 1e3)
            }
            Quantity::Bandwidth => state.and_then(|state| state.bandwidth).map(|rate| rate * 8.0 / 1e3),
            Quantity::Hops => self.nodes[it.from.index()].routing.lookup(it.to.into()).map(|(_, hops)| f64::from(hops)),
        }
    }
}
