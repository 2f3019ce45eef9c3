//! The results of flows of kernels, in the tables of all flows.
//!
//! What only the inside of a sender knows, and the samples of its socket do not tell, stays zero or empty: times and
//! counts by phase, the delay of the application. Timeouts and fast retransmits that are not known are empty.

use hopyard_engine::Time;
use hopyard_model::observe::{FlowRow, ProgramRow, SeriesRow};
use hopyard_model::world::Quantity;

use crate::meter::{Ends, Meters};
use crate::programs::{Program, ProgramState};
use crate::run::{FlowState, Sample};

/// Data packets of a flow that are on the way at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// All of them.
    pub anywhere: u64,
    /// Those in interface queues.
    pub queued: u64,
    /// The packets of the whole run that ns-2 would number.
    pub numbered: u64,
}

/// Puts the results of a flow at a time in the place of those of a flow that did nothing.
pub fn flow(row: &mut FlowRow, state: &FlowState, left: Left, samples: &[Sample], measure_from: Time, end: Time) {
    let counts = &state.counts;
    let window = end.since(measure_from).seconds();
    let kbps = |bytes: u64| if window > 0.0 { bytes as f64 * 8.0 / window / 1e3 } else { 0.0 };
    let percent = |part: u64| 100.0 * part as f64 / counts.packets_sent.max(1) as f64;
    let pairs = counts.delays.windows(2).map(|pair| pair[0].seconds() - pair[1].seconds());
    let jitter: f64 = pairs.map(|difference| difference.abs() * 1e3).sum();
    let mut delays: Vec<f64> = counts.delays.iter().map(|span| span.seconds() * 1e3).collect();
    delays.sort_unstable_by(f64::total_cmp);
    // The smallest delay that this share of the packets did not exceed.
    let quantile = |share: usize| delays.get((delays.len() * share).div_ceil(100).max(1) - 1).copied();
    let mean_of = |sum: f64| (counts.packets_arrived > 0).then(|| sum / counts.packets_arrived as f64);
    row.transport = format!("{} (Linux)", state.flow.variant).into();
    row.goodput_kbps = kbps(counts.delivered_bytes);
    row.throughput_kbps = kbps(counts.network_bytes);
    row.payload_kbps = kbps(counts.unique_bytes);
    row.delay_ms = mean_of(delays.iter().sum());
    (row.delay_p50_ms, row.delay_p95_ms, row.delay_p99_ms) = (quantile(50), quantile(95), quantile(99));
    row.jitter_ms = counts.packets_arrived.checked_sub(2).map(|pairs| jitter / (pairs + 1) as f64);
    row.packets_sent = counts.packets_sent;
    row.packets_arrived = counts.packets_arrived;
    row.packets_unique = counts.packets_unique;
    row.packets_dropped = counts.packets_dropped;
    (row.packets_left, row.packets_queued) = (left.anywhere, left.queued);
    row.loss_ns2_percent = 100.0 * (counts.copies_dropped + left.queued) as f64 / left.numbered.max(1) as f64;
    row.retransmissions = counts.retransmissions;
    row.loss_transport_percent = percent(counts.retransmissions);
    row.loss_network_percent = percent(counts.packets_dropped);
    row.hops = mean_of(counts.hops as f64);
    let [arrival, new, delivery] = counts.first.map(|it| it.map(Time::seconds));
    (row.first_arrival_s, row.first_new_s, row.first_delivery_s) = (arrival, new, delivery);
    row.delivered_bytes = counts.delivered_bytes;
    (row.timeouts, row.fast_retransmits) = (state.timeouts, state.fast_retransmits);
    row.cwnd_mean = mean_cwnd(samples, measure_from, end);
    // Which packets brought something new is not traced for their energy.
    (row.energy_useful_j, row.energy_in_vain_j, row.energy_under_way_j) = (None, None, None);
}

/// Puts the series of a flow up to a time in the place of those that its number has.
pub fn series(
    rows: &mut Vec<SeriesRow>,
    number: usize,
    quantities: &[Quantity],
    samples: &[Sample],
    meters: &Meters,
    ends: Ends,
    end: Time,
) {
    let flow = number as u32;
    rows.retain(|row| row.flow != flow);
    for &quantity in quantities {
        let row = |(at, value): (Time, f64)| SeriesRow {
            flow,
            time_s: at.seconds(),
            quantity: quantity.name(),
            unit: quantity.unit(),
            value,
        };
        rows.extend(values(quantity, samples, meters, ends, end).into_iter().map(row));
    }
    // Samples of one time and flow keep their order.
    rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s).then(a.flow.cmp(&b.flow)));
}

/// The row of a program, whose command has the quotes that it needs in a shell. What it wrote is text; bytes that are
/// none are replaced.
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
fn values(quantity: Quantity, samples: &[Sample], meters: &Meters, ends: Ends, end: Time) -> Vec<(Time, f64)> {
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
        // These are of senders whose inside is known, and of the network's routes.
        Quantity::Hops | Quantity::Bandwidth | Quantity::PacingGap => Vec::new(),
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
}
