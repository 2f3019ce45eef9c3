//! What a script's shell commands set: the sysctls of Linux's TCP, and what the runner does not know.

use std::collections::BTreeMap;

use crate::features::Reason;
use crate::script::{Action, Script};

/// The sysctls that a script sets before its first event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    values: BTreeMap<String, String>,
    /// What the commands do that has no counterpart in the model.
    pub reasons: Vec<Reason>,
}

/// Sysctls that become parameters of the model.
const MAPPED: [&str; 8] = [
    "tcp_timestamps",
    "tcp_sack",
    "tcp_dsack",
    "tcp_reordering",
    "tcp_congestion_control",
    "tcp_slow_start_after_idle",
    "tcp_early_retrans",
    "tcp_recovery",
];

/// Sysctls without effect on what a script can see of the model: they concern buffers, bursts of segmentation offload,
/// mechanisms that another rule recognises by the packets and calls of the script, or mechanisms that are gone.
const WITHOUT_EFFECT: [&str; 17] = [
    "tcp_rmem",
    "tcp_wmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_frto",
    "tcp_fack",
    "tcp_tso_win_divisor",
    "tcp_min_tso_segs",
    "tcp_ecn",
    "tcp_ecn_option",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_fastopen_blackhole_timeout_sec",
];

/// Commands without effect on TCP.
const HARMLESS: [&str; 8] = ["grep", "nstat", "rm", "dd", "true", "ethtool", "sleep", "modprobe"];

impl Setup {
    /// What the commands of a script set. `load` gives the text of a file that they run, such as
    /// `../common/defaults.sh`.
    #[must_use]
    pub fn of(script: &Script, load: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut setup = Self::default();
        for command in &script.setup {
            setup.run(command, load);
        }
        // What is set later, while the connection is open, is not followed: only whether it differs is found.
        let mut later = setup.clone();
        for event in &script.events {
            if let Action::Command(command) = &event.action {
                later.run(command, load);
            }
        }
        setup.reasons.clone_from(&later.reasons);
        if MAPPED.iter().any(|name| setup.values.get(*name) != later.values.get(*name)) {
            setup.reasons.push(Reason::SettingsThatChange);
        }
        setup
    }

    /// The value of a sysctl of `net.ipv4`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a sysctl is not zero; if it is not set, `otherwise`.
    #[must_use]
    pub fn is_on(&self, name: &str, otherwise: bool) -> bool {
        self.value(name).map_or(otherwise, |value| value != "0")
    }

    fn run(&mut self, text: &str, load: &dyn Fn(&str) -> Option<String>) {
        for line in text.replace("\\\n", " ").lines() {
            let line = line.split_once('#').map_or(line, |(before, _)| before);
            for command in line.split([';', '|']).flat_map(|part| part.split("&&")) {
                self.run_one(&words(command), load);
            }
        }
    }

    fn run_one(&mut self, words: &[String], load: &dyn Fn(&str) -> Option<String>) {
        let Some(first) = words.first() else { return };
        let name = first.rsplit('/').next().unwrap_or(first);
        match name {
            "sysctl" => words[1..].iter().for_each(|word| self.set(word)),
            "set_sysctls.py" => words[1..].iter().for_each(|word| self.set(word)),
            "tc" => self.queue(words),
            "ip" if words.get(1).is_some_and(|word| word == "tcp_metrics") => {}
            "ip" => self.reasons.push(Reason::Route),
            "echo" if words.iter().any(|word| word.starts_with("/sys/module/tcp_cubic/")) => {
                // The value 3 asks for both of HyStart's signs, which is Linux's default.
                if words.get(1).is_none_or(|value| value != "3") {
                    self.reasons.push(Reason::Command(words.join(" ")));
                }
            }
            _ if name.starts_with("sysctl_restore_") || HARMLESS.contains(&name) => {}
            _ if name.ends_with(".sh") && !first.starts_with('/') => match load(first) {
                Some(text) => self.run(&text, &|_| None),
                None => self.reasons.push(Reason::Command(first.clone())),
            },
            _ => self.reasons.push(Reason::Command(name.to_owned())),
        }
    }

    fn set(&mut self, word: &str) {
        let Some((name, value)) = word.split_once('=') else { return };
        let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
        let Some(name) = name.strip_prefix("net.ipv4.") else {
            self.reasons.push(Reason::Sysctl(name));
            return;
        };
        let known = MAPPED.contains(&name) || WITHOUT_EFFECT.contains(&name);
        if !known {
            self.reasons.push(Reason::Sysctl(name.to_owned()));
        }
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// `tc qdisc ...`: the queue below TCP. The model's is a plain one that loses nothing.
    fn queue(&mut self, words: &[String]) {
        if words.iter().any(|word| word == "fq") {
            self.reasons.push(Reason::PacingQueue);
        }
        if words.iter().any(|word| word == "limit") {
            self.reasons.push(Reason::LocalDrops);
        }
    }
}

/// The words of a shell command, without quotation marks, redirections and what they lead to. Quotes hold words
/// together.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            None => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words.retain(|word| !(word.contains('>') && word.starts_with(['>', '1', '2', '&'])));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(text: &str) -> Setup {
        let script = crate::parse::parse(text).unwrap();
        Setup::of(&script, &|path| path.ends_with("common.sh").then(|| "sysctl -q net.ipv4.tcp_sack=0\n".to_owned()))
    }

    #[test]
    fn sysctls_are_read_in_every_form() {
        let read = setup(
            "`../common.sh\nsysctl -q net.ipv4.tcp_dsack=0 net/ipv4/tcp_reordering=5 # five\n\
             ../set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n /proc/sys/net/ipv4/tcp_wmem=\"1 2 3\"`",
        );
        assert_eq!(read.reasons, []);
        assert_eq!((read.value("tcp_reordering"), read.value("tcp_wmem")), (Some("5"), Some("1 2 3")));
        assert!(!read.is_on("tcp_sack", true) && !read.is_on("tcp_dsack", true) && !read.is_on("tcp_timestamps", true));
        assert!(read.is_on("tcp_recovery", true), "as it is without a command");
    }

    #[test]
    fn what_has_no_counterpart_is_named() {
        assert_eq!(setup("`tc qdisc replace dev tun0 root fq`").reasons, [Reason::PacingQueue]);
        assert_eq!(setup("`sysctl net.ipv4.tcp_new=1`").reasons, [Reason::Sysctl("tcp_new".to_owned())]);
        assert_eq!(setup("`missing.sh`").reasons, [Reason::Command("missing.sh".to_owned())]);
        assert_eq!(setup("`ip route change 10.0.0.1 dev tun0`").reasons, [Reason::Route]);
        assert_eq!(setup("`nstat | grep X > /dev/null 2>&1; ip tcp_metrics flush all`").reasons, []);
        let late = setup("`sysctl net.ipv4.tcp_sack=1`\n0 `sysctl net.ipv4.tcp_sack=0`\n");
        assert_eq!(late.reasons, [Reason::SettingsThatChange]);
    }
}
