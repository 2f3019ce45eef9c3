//! A square of losses in decibels, as ns-3's `MatrixPropagationLossModel` holds it: a line for each node that sends, a
//! number for each node that hears. `inf` stands for a deaf pair, and the diagonal is not read.

use hopyard_engine::Time;

use super::Quantity;
use super::pairs::Pairs;
use crate::file::lines;

/// Reads the text; faults are added to the problems. Returns the remarks.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>) -> Vec<String> {
    let rows: Vec<(usize, String)> = lines(text)
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim().to_owned()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    for (from, (number, line)) in rows.iter().enumerate() {
        if pairs.problems.ends_at(*number) {
            break;
        }
        let cells: Vec<_> = line.split([',', ';', ' ', '\t']).filter(|cell| !cell.is_empty()).collect();
        if cells.len() != rows.len() {
            pairs.problems.push(Some(*number), line, format!("{} numbers, one for each line", rows.len()));
            continue;
        }
        for (to, cell) in cells.iter().enumerate().filter(|(to, _)| *to != from) {
            let read = Quantity::Loss.read(cell);
            let added = read.ok_or_else(|| Quantity::Loss.expected().to_owned()).and_then(|value| {
                if value == f64::NEG_INFINITY {
                    return Ok(());
                }
                pairs.add(*number, (from as u32, to as u32), (Time::ZERO, value), false)
            });
            if let Err(expected) = added {
                pairs.problems.push(Some(*number), cell, expected);
            }
        }
    }
    Vec::new()
}
