//! A square of losses in decibels, as ns-3's `MatrixPropagationLossModel` holds it: a line for each node that sends, a
//! number for each node that hears. `inf` stands for a deaf pair. The diagonal counts for nothing. A file whose format
//! is detected must have `0`, `inf` or `nan` there, because rows without a header can be as many as their columns.

use hopyard_engine::Time;

use super::Quantity;
use super::pairs::Pairs;
use crate::file::lines;

/// The other meaning that a file of numbers may have.
const OR_HEADER: &str = "; other rows need a header such as from,to,loss_db";

/// Reads the text; faults are added to the problems. `detected` says that the first line alone makes it a square.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>, detected: bool) {
    let or_header = if detected { OR_HEADER } else { "" };
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
            let expected = format!("{} numbers, one for each line of a square of losses{or_header}", rows.len());
            pairs.problems.push(Some(*number), line, expected);
            continue;
        }
        if detected && cells[from].parse().is_ok_and(|own: f64| own.is_finite() && own != 0.0) {
            let expected = format!("a square of losses with 0 on its diagonal{or_header}");
            pairs.problems.push(Some(*number), &format!("{} in column {}", cells[from], from + 1), expected);
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
}
