//! `[linux]`: the kernels of flows whose TCP is Linux's.

use hopyard_engine::Span;
use hopyard_model::params::{Fault, Params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose TCP a flow has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stack {
    /// The models of this simulator.
    #[default]
    Hopyard,
    /// A Linux kernel at each end, in simulated time.
    Linux,
}

/// When a kernel gets the buffer of a sent frame back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// When the node's MAC has sent the frame or has given it up, or the wire has its last bit, as from a real driver.
    #[default]
    Sent,
    /// At once: the kernel fills the simulated queue.
    Immediate,
}

/// Which Westwood the kernels have under the name `westwood`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Westwood {
    /// Linux's own, which is Westwood+.
    #[default]
    Linux,
    /// Westwood as published in 2001, a module of Hopyard.
    Published,
}

/// `[linux]`: the kernels of flows with `stack = "linux"`. A node with an end of such a flow has one kernel, which is
/// the host of all of these flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linux {
    /// The version of the kernel, which `hopyard kernels build` has made: "6.1" or "6.12".
    pub version: String,
    /// When a kernel gets the buffer of a sent frame back: "sent" or "immediate".
    pub completion: Completion,
    /// Parameters of the kernels, such as `"net.ipv4.tcp_sack=0"`.
    pub sysctls: Vec<String>,
    /// The interval between samples of the kernels' sockets.
    pub sample: Span,
    /// What the kernels have as `westwood`: "linux" (their own, which is Westwood+) or "published" (a module of Hopyard).
    pub westwood: Westwood,
    /// The memory of each kernel, in MiB. What a kernel does not touch takes no memory of the machine.
    pub memory: u32,
}

impl Default for Linux {
    fn default() -> Self {
        Self {
            version: "6.1".to_owned(),
            completion: Completion::Sent,
            sysctls: Vec::new(),
            sample: Span::from_millis(100),
            westwood: Westwood::Linux,
            memory: 32,
        }
    }
}

/// Linux's name of its Westwood, and that of Hopyard's module.
const WESTWOOD: &str = "westwood";
const PUBLISHED_WESTWOOD: &str = "westwood_2001";
/// A kernel with less memory does not start.
const LEAST_MEMORY: u32 = 16;
/// The shortest interval between samples: each takes some processor time.
const FINEST: Span = Span::from_micros(100);

impl Linux {
    /// What the kernels call a TCP variant of a scenario.
    #[must_use]
    pub fn name_of<'a>(&self, variant: &'a str) -> &'a str {
        match (variant, self.westwood) {
            (WESTWOOD, Westwood::Published) => PUBLISHED_WESTWOOD,
            _ => variant,
        }
    }

    /// The parameters of the kernels, as paths below `/proc/sys` with their values.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let pairs = self.sysctls.iter().filter_map(|text| text.split_once('='));
        pairs.map(|(name, value)| (name.trim().replace('.', "/"), value.trim().to_owned())).collect()
    }
}

impl Params for Linux {
    fn of_profile(_profile: &str) -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), Fault> {
        if self.memory < LEAST_MEMORY {
            return Err(Fault::new("memory", format!("expected at least {LEAST_MEMORY}, found {}", self.memory)));
        }
        if self.sample < FINEST {
            return Err(Fault::new("sample", format!("expected at least {FINEST}, found {}", self.sample)));
        }
        // The orders of a kernel are lines of words.
        let name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let is_sound = |text: &&String| {
            text.len() < 100
                && text.split_once('=').is_some_and(|(key, value)| {
                    let key = key.trim();
                    key.contains('.') && key.chars().all(name) && !key.contains("..") && !value.trim().is_empty()
                })
                && !text.contains(char::is_control)
        };
        match self.sysctls.iter().find(|text| !is_sound(text)) {
            Some(text) => {
                let problem = format!("expected a parameter such as \"net.ipv4.tcp_sack=0\", found \"{text}\"");
                Err(Fault::new("sysctls", problem))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_paths_and_values() {
        let sysctls = vec!["net.ipv4.tcp_sack=0".to_owned(), "net.ipv4.tcp_rmem = 4096 8192 16384".to_owned()];
        let linux = Linux { sysctls, ..Linux::default() };
        assert_eq!(linux.check().err().map(|fault| fault.parameter), None);
        let expected = [("net/ipv4/tcp_sack", "0"), ("net/ipv4/tcp_rmem", "4096 8192 16384")];
        assert_eq!(linux.parameters(), expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
    }

    #[test]
    fn westwood_is_linuxs_or_the_published_one() {
        let published = Linux { westwood: Westwood::Published, ..Linux::default() };
        assert_eq!(["westwood", "cubic"].map(|it| Linux::default().name_of(it)), ["westwood", "cubic"]);
        assert_eq!(["westwood", "cubic"].map(|it| published.name_of(it)), ["westwood_2001", "cubic"]);
    }

    #[test]
    fn impossible_values_are_named() {
        let parameter = |linux: Linux| linux.check().err().map(|fault| fault.parameter);
        assert_eq!(parameter(Linux { memory: 15, ..Linux::default() }), Some("memory"));
        assert_eq!(parameter(Linux { sample: Span::ZERO, ..Linux::default() }), Some("sample"));
        for text in ["", "tcp_sack=0", "net.ipv4.tcp_sack", "net.x=", "net. x=1", "../../x.y=1", "net.x=1\n"] {
            assert_eq!(parameter(Linux { sysctls: vec![text.to_owned()], ..Linux::default() }), Some("sysctls"));
        }
    }
}
