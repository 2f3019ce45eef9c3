//! Checks of recorded tracks against each other and against the run: one origin and one start for all files, and
//! movement before the run ends.

use hopyard_engine::Time;
use hopyard_model::mobility::files::Zero;
use hopyard_model::mobility::files::globe::Globe;

use super::movement::tables;
use super::resolved::Resolved;
use super::resolver::Resolver;

/// Times of files from this one on, in seconds, count from 1970: it is in 1973, and no log of a device's own clock is
/// three years long.
const SINCE_1970: f64 = 1e8;

/// A table that names a file.
struct Recorded<'a> {
    /// "mobility.movement_file", or that of a [[movement]].
    section: String,
    path: &'a str,
    zero: Zero,
    /// Whether the table says what is zero, place and time.
    says: (bool, bool),
}

impl Recorded<'_> {
    fn globe(&self) -> Option<Globe> {
        self.zero.origin
    }

    fn start(&self) -> Option<f64> {
        Some(self.zero.epoch).filter(|epoch| *epoch >= SINCE_1970)
    }
}

/// " (and 3 more files)".
fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (and 1 more file)".to_owned(),
        _ => format!(" (and {others} more files)"),
    }
}

impl Resolver<'_> {
    /// Warns of files whose places or times have different zeros, and of movement outside the run.
    pub(super) fn check_tracks(&mut self, resolved: &Resolved) {
        let mut recorded = Vec::new();
        for (section, chosen) in tables(resolved) {
            let Some((params, file)) = chosen.file().zip(resolved.file(chosen)) else { continue };
            let section = format!("{section}.{}", chosen.model.name);
            self.check_times(resolved, &section, &params.path, (file.meaning.begin(), file.meaning.zero()));
            let says = (params.origin != "first", !["first", "detect"].contains(&&*params.epoch));
            let zero = file.meaning.zero().copied();
            recorded.extend(zero.map(|zero| Recorded { section, path: &params.path, zero, says }));
        }
        self.check_origins(&recorded);
        self.check_starts(&recorded);
    }

    fn check_origins(&mut self, recorded: &[Recorded<'_>]) {
        let with = || recorded.iter().filter_map(|it| Some((it, it.globe()?)));
        let Some((model, origin)) = with().find(|(it, _)| it.says.0).or_else(|| with().next()) else { return };
        let others: Vec<_> = with().filter(|(_, globe)| *globe != origin).collect();
        let Some((it, globe)) = others.first() else { return };
        let shown =
            |it: &Globe| format!("longitude {}, latitude {}, height {} m", it.longitude, it.latitude, it.height);
        let message = format!(
            "{} and {} do not lie on one map{}: (0, 0) is {} in the one and {} in the other",
            model.path,
            it.path,
            more(others.len() - 1),
            shown(&origin),
            shown(globe)
        );
        let height = if origin.height == 0.0 { String::new() } else { format!(" {}", origin.height) };
        self.warning(&format!("{}.origin", it.section), message).expected =
            Some(format!("one `origin` for all files, such as \"{} {}{height}\"", origin.longitude, origin.latitude));
    }

    fn check_starts(&mut self, recorded: &[Recorded<'_>]) {
        let with = || recorded.iter().filter_map(|it| Some((it, it.start()?)));
        let earliest = with().min_by(|one, other| one.1.total_cmp(&other.1));
        let Some((model, start)) = with().find(|(it, _)| it.says.1).or(earliest) else { return };
        let others: Vec<_> = with().filter(|(_, other)| *other != start).collect();
        let Some((it, other)) = others.first() else { return };
        let when = if *other > start { "after" } else { "before" };
        let message = format!(
            "{} starts {:.3} s {when} {}, and the run starts both at once{}",
            it.path,
            (other - start).abs(),
            model.path,
            more(others.len() - 1)
        );
        self.warning(&format!("{}.epoch", it.section), message).expected =
            Some(format!("one `epoch` for all files, such as \"{start}\""));
    }

    /// Warns of a file in which nothing moves before the run ends, or after it has started.
    fn check_times(&mut self, resolved: &Resolved, section: &str, path: &str, file: (Option<Time>, Option<&Zero>)) {
        let end = resolved.head.duration;
        let (begin, zero) = file;
        if let Some(Zero { epoch, times: (first, last), .. }) = zero.filter(|it| it.times.0 < it.times.1) {
            if last <= epoch {
                let message = format!(
                    "nothing moves: the last time in {path}, {last} s, is not after the start of the run, {epoch} s"
                );
                self.warning(&format!("{section}.epoch"), message).expected =
                    Some("an `epoch` before the last time, such as \"first\"".to_owned());
                return;
            }
            if first - epoch >= end.seconds() && !self.is_faulty("duration") {
                let message = format!(
                    "nothing moves: the first time in {path}, {first} s, is {:.3} s after the start of the run, which \
                     ends at {end}",
                    first - epoch
                );
                let warning = self.warning(&format!("{section}.path"), message);
                warning.expected = Some("times before the end of the run".to_owned());
                warning.hint = Some("`epoch = \"first\"` starts the run at the first time of the file".to_owned());
                return;
            }
        }
        if let Some(begin) = begin.filter(|begin| *begin >= Time::ZERO + end)
            && !self.is_faulty("duration")
        {
            let message = format!(
                "nothing moves: the first movement in {path} is at {}, and the run ends at {end}",
                begin.since(Time::ZERO)
            );
            self.warning(&format!("{section}.path"), message).expected =
                Some("times before the end of the run".to_owned());
        }
    }
}
