//! Tables in text: a header, and rows below it. A comma, a semicolon or a tab separates columns; quotes around a cell,
//! empty lines and lines that begin with `#` do not count.

use super::{BadFile, lines};

/// The columns that a header names.
pub struct Header<'a>(Vec<&'a str>);

impl Header<'_> {
    /// The place of the only column with one of these names.
    pub fn place(&self, wanted: &[&str]) -> Option<usize> {
        let mut places = self.0.iter().enumerate().filter(|(_, name)| wanted.contains(name)).map(|it| it.0);
        places.next().filter(|_| places.next().is_none())
    }

    /// How many columns there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

fn separator(header: &str) -> Option<char> {
    [',', ';', '\t'].into_iter().find(|it| header.contains(*it))
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    // A quote that never ends is a part of the cell, so that no reader takes the cell for a number.
    line.split(separator)
        .map(str::trim)
        .map(|cell| cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(cell))
        .collect()
}

/// The columns of a first line that is the header of a table.
pub fn columns<C>(line: &str, columns: impl Fn(&Header<'_>) -> Option<C>) -> Option<C> {
    columns(&Header(cells(line, separator(line)?)))
}

/// Reads the rows of a table with these columns into `rows`, which has the list of problems. A fault of a row is what
/// was expected in its place. Returns the columns, if there is a header.
pub fn read<T, C>(
    text: &[u8],
    rows: &mut T,
    problems: fn(&mut T) -> &mut BadFile,
    (header, columns): (&str, impl Fn(&Header<'_>) -> Option<C>),
    row: impl Fn(&mut T, usize, &[&str], &C) -> Result<(), String>,
) -> Option<C> {
    let mut found: Option<(C, char, usize)> = None;
    for (number, line) in lines(text) {
        if problems(rows).ends_at(number) {
            break;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((columns, separator, count)) = &found else {
            let named = separator(line).map(|it| (it, Header(cells(line, it))));
            found = named.and_then(|(separator, names)| Some((columns(&names)?, separator, names.count())));
            if found.is_none() {
                problems(rows).push(Some(number), line, header);
                break;
            }
            continue;
        };
        let cells = cells(line, *separator);
        let read = match cells.len() == *count {
            true => row(rows, number, &cells, columns),
            false => Err(format!("{count} values")),
        };
        if let Err(expected) = read {
            problems(rows).push(Some(number), line, expected);
        }
    }
    found.map(|it| it.0)
}
