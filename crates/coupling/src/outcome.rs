//! The results of flows of kernels, in the tables of all flows.
//!
//! Values that only the inside of a sender knows, and that the samples of its socket do not tell, stay zero or empty:
//! times and counts by phase, and the delay of the application. Timeouts and fast retransmits that are not known are
//! empty.

use hopyard_engine::{Span, Time};
use hopyard_model::observe::{FlowCounts, FlowRow, PacketsLeft, ProgramRow, SeriesRow};
use hopyard_model::transport::connection::SenderCounters;
use hopyard_model::world::Quantity;

use crate::meter::{Ends, Measured, Meters};
use crate::programs::{Program, ProgramState};
use crate::state::{FlowState, Sample};

/// The row of a flow. `idle` are the counts of its number in the network, where nothing is sent.
pub fn flow(
    idle: &FlowCounts<'_>,
    state: &FlowState,
    measured: &Measured,
    left: PacketsLeft,
    samples: &[Sample],
) -> FlowRow {
    let row = FlowRow::of(&FlowCounts {
        transport: format!("{} (Linux)", state.flow.variant).into(),
        meter: &measured.packets,
        unique_bytes: measured.unique_bytes,
        dropped: measured.dropped,
        left,
        sender: SenderCounters { retransmitted_segments: measured.retransmissions, ..idle.sender },
        cwnd_mean: mean_cwnd(samples, measured.packets.from(), idle.until),
        // Which packets brought something new is not traced for their energy.
        energy: None,
        ..idle.clone()
    });
    let (timeouts, fast_retransmits) = (state.timeouts, state.fast_retransmits);
    FlowRow { timeouts, fast_retransmits, application_delay_ms: None, ..row }
}

/// The sources of the samples of a flow.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    /// The samples of its socket.
    pub samples: &'a [Sample],
    pub meters: &'a Meters,
    pub ends: Ends,
    /// The hops of its route from a time on, where kernels route; empty where Hopyard does.
    pub hops: &'a [(Time, Option<usize>)],
    /// The time between two samples.
    pub interval: Span,
    /// The time of the last one at the latest.
    pub end: Time,
}

/// Puts the series of a flow in the place of the rows that its number has. The hops that Hopyard's routing counts stay.
pub fn series(rows: &mut Vec<SeriesRow>, number: usize, quantities: &[Quantity], sampled: Sampled<'_>) {
    let flow = number as u32;
    let stays = |row: &SeriesRow| sampled.hops.is_empty() && row.quantity == Quantity::Hops.name();
    rows.retain(|row| row.flow != flow || stays(row));
    for &quantity in quantities {
        let row = |(at, value): (Time, f64)| SeriesRow {
            flow,
            time_s: at.seconds(),
            quantity: quantity.name(),
            unit: quantity.unit(),
            value,
        };
        rows.extend(values(quantity, sampled).into_iter().map(row));
    }
    // Samples of one time and flow keep their order.
    rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s).then(a.flow.cmp(&b.flow)));
}

/// The row of a program, whose command has the quotes that it needs in a shell. Its output is text; bytes that are none
/// are replaced.
pub fn program(number: u32, program: &Program, state: &ProgramState) -> ProgramRow {
    let [output, errors] = state.output.each_ref().map(|it| String::from_utf8_lossy(&it.bytes()).into_owned());
    // No argument has a zero byte.
    let quoter = shlex::Quoter::new().allow_nul(true);
    let command = quoter.join(program.arguments.iter().map(String::as_str)).unwrap_or_default();
    ProgramRow {
        program: number,
        node: program.node.0,
        command,
        began_s: state.began.map(Time::seconds),
        ended_s: state.ended.map(|(at, _)| at.seconds()),
        status: state.ended.map(|(_, status)| status),
        output,
        errors,
    }
}

/// The samples of a quantity.
fn values(quantity: Quantity, sampled: Sampled<'_>) -> Vec<(Time, f64)> {
    let Sampled { samples, meters, ends, hops, interval, end } = sampled;
    let of_sockets = |value: fn(&Sample) -> Option<f64>| {
        samples.iter().filter_map(|it| Some((it.at, value(it)?))).collect::<Vec<_>>()
    };
    let of_arrivals = |bytes: fn((Time, u64, u64)) -> u64| {
        let mut before = Time::ZERO;
        let rate = |row: (Time, u64, u64)| {
            let interval = row.0.since(std::mem::replace(&mut before, row.0)).seconds();
            (row.0, bytes(row) as f64 * 8.0 / interval / 1e3)
        };
        meters.series(ends, end).into_iter().map(rate).collect()
    };
    match quantity {
        Quantity::Cwnd => of_sockets(|it| Some(it.cwnd.into())),
        Quantity::Ssthresh => of_sockets(|it| it.ssthresh.map(f64::from)),
        Quantity::Srtt => of_sockets(|it| Some(it.srtt_ms / 1e3)),
        Quantity::Rto => of_sockets(|it| Some(it.rto_ms / 1e3)),
        Quantity::Goodput => of_arrivals(|(_, delivered, _)| delivered),
        Quantity::Throughput => of_arrivals(|(_, _, network)| network),
        Quantity::Hops => {
            let step = interval.nanos().max(1);
            let count = if hops.is_empty() { 0 } else { end.nanos() / step };
            let value = |at: Time| hops[..hops.partition_point(|it| it.0 <= at)].last()?.1;
            let times = (1..=count).map(|number| Time::from_nanos(number * step));
            times.filter_map(|at| Some((at, value(at)? as f64))).collect()
        }
        // These are of senders whose inside is known.
        Quantity::Bandwidth | Quantity::PacingGap => Vec::new(),
    }
}

/// The mean window from the first sample, or from when results are measured, on: each sample holds until the next one.
fn mean_cwnd(samples: &[Sample], measure_from: Time, end: Time) -> Option<f64> {
    let from = |it: &Sample| it.at.max(measure_from).min(end);
    let ends = samples.iter().skip(1).map(from).chain([end]);
    let spans = samples.iter().zip(ends).map(|(it, to)| (f64::from(it.cwnd), to.since(from(it)).seconds()));
    let (area, time) = spans.fold((0.0, 0.0), |(area, time), (cwnd, span)| (area + cwnd * span, time + span));
    (time > 0.0).then(|| area / time)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hopyard_model::address::NodeId;

    use super::*;

    #[test]
    fn the_command_of_a_program_has_its_quotes() {
        let arguments = ["sh", "-c", "echo 'a  b' > \"$HOME\"", "", "plain"].map(str::to_owned).to_vec();
        let environment = Vec::new();
        let program = Program { node: NodeId(3), arguments, start: Time::ZERO, environment, folder: "/".into() };
        let row = self::program(1, &program, &ProgramState::default());
        assert_eq!(shlex::split(&row.command).as_ref(), Some(&program.arguments), "{}", row.command);
        assert!(row.command.starts_with("sh -c ") && row.command.ends_with(" plain"), "{}", row.command);
    }

    #[test]
    fn hops_are_those_of_whoever_routes() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let second = Span::from_secs(1);
        let meters = Meters::new(Time::ZERO, second, &[], false);
        let ends = (Ipv4Addr::LOCALHOST, 34999, Ipv4Addr::LOCALHOST, 49151);
        let row = |flow, quantity: Quantity, time_s, value| {
            let (quantity, unit) = (quantity.name(), quantity.unit());
            SeriesRow { flow, time_s, quantity, unit, value }
        };
        let found = |hops: &[(Time, Option<usize>)]| {
            let of_network = [(0, Quantity::Cwnd, 4.0), (0, Quantity::Hops, 5.0), (1, Quantity::Cwnd, 6.0)];
            let mut rows = of_network.map(|(flow, quantity, value)| row(flow, quantity, 1.0, value)).to_vec();
            let sampled = Sampled { samples: &[], meters: &meters, ends, hops, interval: second, end: at(3000) };
            series(&mut rows, 0, &[Quantity::Cwnd, Quantity::Hops], sampled);
            rows.into_iter().map(|it| (it.flow, it.quantity, it.time_s, it.value)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), [(0, "hops", 1.0, 5.0), (1, "cwnd", 1.0, 6.0)]);
        let of_kernels = [(at(500), Some(2)), (at(1500), None), (at(2500), Some(3))];
        assert_eq!(found(&of_kernels), [(0, "hops", 1.0, 2.0), (1, "cwnd", 1.0, 6.0), (0, "hops", 3.0, 3.0)]);
    }
}
