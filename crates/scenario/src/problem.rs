//! The problems of a scenario: all at once, each with its place, the expected value, and a hint.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

/// The source of a text.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file's name, `--set` for a setting, or nothing for a scenario that a program has made.
    pub name: Option<String>,
    /// The whole text.
    pub text: String,
    /// The start of each line, computed at the first use.
    lines: OnceLock<Vec<usize>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Source {}

impl Source {
    pub(crate) fn new(name: Option<String>, text: String) -> Self {
        Self { name, text, lines: OnceLock::new() }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            std::iter::once(0).chain(self.text.match_indices('\n').map(|(newline, _)| newline + 1)).collect()
        })
    }

    /// The line and column, counted from one in characters, of a byte.
    fn position(&self, at: usize) -> (usize, usize) {
        let line = self.lines().partition_point(|start| *start <= at).max(1);
        let before = self.text.get(self.lines()[line - 1]..at).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// A line, counted from one, without its end.
    fn line(&self, number: usize) -> &str {
        let start = self.lines().get(number - 1).copied().unwrap_or(self.text.len());
        self.text[start..].lines().next().unwrap_or_default()
    }

    /// The lines of a part of a text: the number of the first line, and the range of their bytes.
    fn lines_of(&self, span: &Range<usize>) -> (usize, Range<usize>) {
        let first = self.position(span.start).0;
        let end = self.text[span.end..].find('\n').map_or(self.text.len(), |newline| span.end + newline);
        (first, self.lines()[first - 1]..end)
    }
}

/// A part of the text of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub source: Arc<Source>,
    pub span: Range<usize>,
}

impl Mark {
    pub(crate) fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        // A parser that recovers from an error may point past the end, or into the middle of a character.
        let clamp = |at: usize| (0..=at.min(source.text.len())).rev().find(|&at| source.text.is_char_boundary(at));
        let (start, end) = (clamp(span.start).unwrap_or(0), clamp(span.end).unwrap_or(0));
        Self { source: Arc::clone(source), span: start..end.max(start) }
    }

    /// Whether the text was given as a setting on top of the scenario.
    pub(crate) fn is_setting(&self) -> bool {
        self.source.name.as_deref() == Some(SETTING)
    }
}

/// The name that messages give to settings over the scenario.
pub(crate) const SETTING: &str = "--set";

/// The place of a problem in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or `--set` for a setting given on top of it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one in characters.
    pub column: usize,
    /// The line's text.
    pub text: String,
}

/// One problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key concerned, as `--set` would name it: `mac.dcf.rate`, `flow.1.to`.
    pub path: String,
    /// The fault.
    pub message: String,
    /// The expected value there, if it is known.
    pub expected: Option<String>,
    /// A hint for the user.
    pub hint: Option<String>,
    /// Whether the problem is a warning about a table of a model that the scenario does not use, or about a key that
    /// does nothing. Another case of a comparison may use the table or the key.
    pub unused: bool,
    pub(crate) mark: Option<Mark>,
    /// The file that lacks something, where no line can be named.
    pub(crate) of_file: Option<String>,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, mark: Option<&Mark>, message: impl Into<String>) -> Self {
        // A key or a value in quotes may contain line breaks or control characters, which would disturb a terminal.
        let printable = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        let message = message.into().chars().map(printable).collect();
        Self {
            path: path.into(),
            message,
            expected: None,
            hint: None,
            unused: false,
            mark: mark.cloned(),
            of_file: None,
        }
    }

    pub(crate) fn unused(mut self) -> Self {
        self.unused = true;
        self
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The texts that distinguish the problem: its own texts and the texts of its place, without the rest of the
    /// source.
    pub(crate) fn identity(&self) -> [String; 5] {
        let place = self.mark.as_ref().map_or_else(String::new, |Mark { source, span }| {
            let (name, text) = (source.name.as_deref().unwrap_or_default(), &source.text[span.clone()]);
            format!("{name}:{span:?}:{text}")
        });
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        [self.path.clone(), self.message.clone(), text(&self.expected), text(&self.hint), place]
    }

    /// Names the source of a problem that has no place in it.
    pub(crate) fn in_source(mut self, source: &Source) -> Self {
        self.of_file = self.of_file.or_else(|| source.name.clone().filter(|_| self.mark.is_none()));
        self
    }

    /// The file, or `--set`; nothing for a scenario that was made by a program.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.mark.as_ref().map_or(self.of_file.as_deref(), |mark| mark.source.name.as_deref())
    }

    /// The place in the file; nothing for a scenario that was made by a program, and where no line can be named.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        let mark = self.mark.as_ref()?;
        let file = mark.source.name.clone()?;
        let (line, column) = mark.source.position(mark.span.start);
        let text = mark.source.line(line).to_owned();
        Some(Location { file, line, column, text })
    }

    /// The problem in the form of a compiler's message; `level` is "error" or "warning".
    fn render(&self, level: Level<'_>, renderer: &Renderer) -> String {
        let title = level.primary_title(&self.message);
        let expected = self.expected.as_ref().map(|expected| format!("expected {expected}"));
        let in_file = self.mark.as_ref().and_then(|mark| Some((mark, mark.source.name.as_deref()?)));
        let mut group = if let Some((mark, name)) = in_file {
            let label = expected.as_deref();
            // Only the lines concerned: with thousands of problems, the whole text would be searched thousands of
            // times.
            let (first, lines) = mark.source.lines_of(&mark.span);
            let span = mark.span.start - lines.start..mark.span.end - lines.start;
            let annotation = AnnotationKind::Primary.span(span).label(label);
            let snippet = Snippet::source(&mark.source.text[lines]).line_start(first).path(name);
            title.element(snippet.annotation(annotation))
        } else {
            let place = self.of_file.as_ref().unwrap_or(&self.path);
            let group = title.element(Origin::path(if place.is_empty() { "scenario" } else { place }));
            group.elements(expected.map(|expected| Level::NOTE.message(expected)))
        };
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint));
        }
        renderer.render(&[group])
    }

    /// As [`Display`](fmt::Display), with colours for a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        self.render(Level::ERROR, &Renderer::styled())
    }

    /// The problem as a warning: the value is possible, but may not be intended.
    #[must_use]
    pub fn as_warning(&self) -> String {
        self.render(Level::WARNING, &Renderer::plain())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Level::ERROR, &Renderer::plain()))
    }
}

/// The number of problems that are shown in full.
const MOST_SHOWN: usize = 50;

/// All problems of a scenario, in the order of the file. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The problems as an error, or nothing if there is none.
    pub(crate) fn from_list(mut problems: Vec<Problem>) -> Option<Self> {
        // Problems of settings come after those of the file. The sort is stable, so that the other problems keep their
        // order.
        problems.sort_by_key(|p| p.mark.as_ref().map_or((true, 0), |m| (m.is_setting(), m.span.start)));
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// As [`Display`](fmt::Display), with colours for a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        self.join(Problem::coloured)
    }

    fn join(&self, show: impl Fn(&Problem) -> String) -> String {
        let mut text = self.0.iter().take(MOST_SHOWN).map(show).collect::<Vec<_>>().join("\n\n");
        let count = self.0.len();
        if count > MOST_SHOWN {
            text.push_str(&format!("\n\nand {} more", count - MOST_SHOWN));
        }
        text.push_str(&format!("\n\n{count} problem{} found\n", if count == 1 { "" } else { "s" }));
        text
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.join(Problem::to_string))
    }
}

impl std::error::Error for Problems {}

/// The name among `names` that a user who wrote `word` probably meant.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let normal = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let word = normal(word);
    // A third of the letters may be wrong. With more errors it is a different word.
    let most = |name: &str| (name.len().max(word.len()) / 3).max(1);
    names
        .into_iter()
        // The lengths alone exclude most words, at no cost.
        .filter(|name| name.len().abs_diff(word.len()) <= most(name))
        .map(|name| (strsim::damerau_levenshtein(&word, &normal(name)), name))
        // A word of one letter is near every other one.
        .filter(|(distance, name)| *distance <= most(name) && *distance < name.len().max(word.len()))
        .min()
        .map(|(_, name)| name)
}

/// "`a`, `b` or `c`".
pub(crate) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Increasing numbers in words: "1, 3 to 7 and 9". Among very many parts, it has the first ones.
pub(crate) fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let left_out: u64 = parts.iter().skip(MOST_PARTS).map(|(first, last)| u64::from(last - first) + 1).sum();
    let words = |&(first, last): &(u32, u32)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first} to {last}")],
    };
    let mut words: Vec<String> = parts.iter().take(MOST_PARTS).flat_map(words).collect();
    if left_out > 0 {
        words.push(format!("{left_out} more"));
    }
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The number of parts of a list of numbers that are written.
const MOST_PARTS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: Option<&str>, text: &str) -> Arc<Source> {
        Arc::new(Source::new(name.map(str::to_owned), text.to_owned()))
    }

    #[test]
    fn a_problem_reads_like_a_compiler_s() {
        let source = source(Some("chain.toml"), "name = \"é\"\n[radio]\nreceive_rnge = \"250 m\"\n");
        let mark = Mark::new(&source, 20..32);
        let problem = Problem::new("radio.receive_rnge", Some(&mark), "[radio] has no key `receive_rnge`")
            .hint("did you mean `receive_range`?");
        let expected = "\
error: [radio] has no key `receive_rnge`
 --> chain.toml:3:1
  |
3 | receive_rnge = \"250 m\"
  | ^^^^^^^^^^^^
  |
  = help: did you mean `receive_range`?";
        assert_eq!(problem.to_string(), expected);
        let location = problem.location().expect("it is in a file");
        assert_eq!((location.line, location.column, location.text.as_str()), (3, 1, "receive_rnge = \"250 m\""));
    }

    #[test]
    fn a_problem_of_a_program_s_scenario_names_the_key() {
        let source = source(None, "rate = 3");
        let problem =
            Problem::new("mac.dcf.rate", Some(&Mark::new(&source, 7..8)), "found the integer 3").expected("a rate");
        let text = problem.to_string();
        assert!(text.contains("mac.dcf.rate") && text.contains("expected a rate") && !text.contains(":1:"), "{text}");
        assert_eq!(problem.location(), None);
    }

    #[test]
    fn a_title_is_one_line() {
        let problem = Problem::new("", None, "[x] has no key `a\n\u{1b}[2J`");
        assert_eq!(problem.message, "[x] has no key `a\\n\\u{1b}[2J`");
        assert!(problem.to_string().contains(&problem.message));
    }

    #[test]
    fn marks_never_leave_the_text() {
        let source = source(Some("x"), "é");
        assert_eq!(Mark::new(&source, 1..99).span, 0..2);
        assert_eq!(Mark::new(&source, Range { start: 7, end: 3 }).span, 2..2);
    }

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges([4]), "4");
        assert_eq!(ranges([1, 3, 4, 5, 9, 10]), "1, 3 to 5, 9 and 10");
        assert_eq!(ranges(0..1_000_000), "0 to 999999");
        assert_eq!(ranges((0..30).map(|n| 3 * n)), "0, 3, 6, 9, 12, 15, 18, 21, 24, 27 and 20 more");
    }

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["receive_range", "sense_range", "capture"];
        assert_eq!(nearest("recieve_range", names), Some("receive_range"));
        assert_eq!(nearest("Sense-Range", names), Some("sense_range"));
        assert_eq!(nearest("bandwidth", names), None);
        assert_eq!(one_of(names), "`receive_range`, `sense_range` or `capture`");
    }
}
