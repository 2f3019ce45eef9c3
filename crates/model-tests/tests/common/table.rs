//! Outcomes as tables that a reviewer can read. The digest covers everything else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hopyard_model::observe::{NodeRow, Outcome};

/// Several runs side by side: flows, counters of the MACs, drops by reason, digests.
pub fn table(runs: &[(String, Outcome)]) -> String {
    let width = runs.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(8);
    let mut text = String::new();
    flows(&mut text, runs, width);
    macs(&mut text, runs, width);
    drops(&mut text, runs, width);
    line(&mut text, format_args!("\n{:width$} {:>16} {:>8} {:>8}", "run", "digest", "frames", "packets"));
    for (name, outcome) in runs {
        let Outcome { digest, frames, packets, .. } = outcome;
        line(&mut text, format_args!("{name:width$} {digest:016x} {frames:>8} {packets:>8}"));
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes any text");
}

fn flows(text: &mut String, runs: &[(String, Outcome)], width: usize) {
    line(
        text,
        format_args!(
            "{:width$} {:>4} {:>9} {:>8} {:>9} {:>9} {:>6} {:>7} {:>6} {:>5} {:>4} {:>5} {:>5} {:>5} {:>6}",
            "run",
            "flow",
            "transport",
            "kbit/s",
            "delay ms",
            "95% ms",
            "sent",
            "arrived",
            "unique",
            "retx",
            "RTOs",
            "fast",
            "lost",
            "left",
            "hops",
        ),
    );
    for (name, outcome) in runs {
        for row in &outcome.flows {
            let optional = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
            };
            line(
                text,
                format_args!(
                    "{name:width$} {:>4} {:>9} {:>8.1} {:>9} {:>9} {:>6} {:>7} {:>6} {:>5} {:>4} {:>5} {:>5} {:>5} \
                     {:>6}",
                    row.flow,
                    row.transport,
                    row.goodput_kbps,
                    optional(row.delay_ms, 3),
                    optional(row.delay_p95_ms, 3),
                    row.packets_sent,
                    row.packets_arrived,
                    row.packets_unique,
                    row.retransmissions,
                    row.timeouts.unwrap_or_default(),
                    row.fast_retransmits.unwrap_or_default(),
                    row.packets_dropped,
                    row.packets_left,
                    optional(row.hops, 2),
                ),
            );
        }
    }
}

fn macs(text: &mut String, runs: &[(String, Outcome)], width: usize) {
    /// A column, and the quantity of the nodes that it sums.
    type Column = (&'static str, fn(&NodeRow) -> u64);
    const COLUMNS: [Column; 13] = [
        ("routing", |row| row.routing_packets),
        ("forwarded", |row| row.forwarded),
        ("RTS", |row| row.metric("rts").unwrap_or(0)),
        ("CTS", |row| row.metric("cts").unwrap_or(0)),
        ("data", |row| row.data_frames),
        ("ACK", |row| row.metric("acks").unwrap_or(0)),
        ("broadcast", |row| row.broadcasts),
        ("no CTS", |row| row.metric("rts_failures").unwrap_or(0)),
        ("no ACK", |row| row.metric("ack_failures").unwrap_or(0)),
        ("given up", |row| row.metric("given_up").unwrap_or(0)),
        ("duplicate", |row| row.metric("duplicates").unwrap_or(0)),
        ("collision", |row| row.collisions),
        ("bit error", |row| row.bit_errors),
    ];
    let header: String = COLUMNS.iter().map(|(name, _)| format!(" {name:>9}")).collect();
    line(text, format_args!("\n{:width$}{header}", "run"));
    for (name, outcome) in runs {
        let sums: String =
            COLUMNS.iter().map(|(_, of)| format!(" {:>9}", outcome.nodes.iter().map(of).sum::<u64>())).collect();
        line(text, format_args!("{name:width$}{sums}"));
    }
}

fn drops(text: &mut String, runs: &[(String, Outcome)], width: usize) {
    line(text, format_args!("\n{:width$} drops by kind and reason", "run"));
    for (name, outcome) in runs {
        let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for row in &outcome.drops {
            *sums.entry((row.kind, row.reason)).or_default() += row.count;
        }
        let list: Vec<String> = sums.iter().map(|((kind, reason), n)| format!("{n} {kind} {reason}")).collect();
        let list = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        line(text, format_args!("{name:width$} {list}"));
    }
}
