//! What the two ends agree on in the opening exchange, and the model's parameters that follow from it and from the
//! sysctls.
//!
//! Hopyard's segments carry no options in a SYN: both ends of a flow have the same parameters. A script is known in
//! advance, so the agreement is taken from its first SYN, and from the options of the sockets.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_model::params::Params as _;
use hopyard_model::transport::recovery_choice::{Proportional, RecoveryChoice};
use hopyard_model::transport::tcp::{Config, IdleRestart, Params, RecoveryExit, linux};
use hopyard_model::transport::{acking, congestion};

use crate::features::Role;
use crate::script::{Call, Direction, Script, Segment, TcpOption};
use crate::setup::Setup;

/// The largest payload in a frame of Ethernet, as the device of packetdrill has it.
const ETHERNET: u32 = 1460;
/// The payload if the other end names none (RFC 9293 §3.7.1).
const UNNAMED: u32 = 536;
/// Timestamps take this room of every segment (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// The window that a receiving end announces.
const RECEIVE_WINDOW: u32 = 65_535;

/// What the ends agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The largest segment that this end announces.
    pub announced_mss: u32,
    /// The payload of a full segment.
    pub mss: u32,
    /// Whether the ends use SACK.
    pub sack: bool,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// By how much the windows of the other end are shifted.
    pub shift_in: u8,
    /// By how much this end's windows are shifted, as the script expects.
    pub shift_out: u8,
    /// Whether this end sends partial segments at once.
    pub no_delay: bool,
}

impl Agreement {
    /// The agreement of a script.
    #[must_use]
    pub fn of(script: &Script, setup: &Setup) -> Self {
        let first = |wanted: Direction| {
            script.segments().find(|(direction, segment)| *direction == wanted && segment.has('S')).map(|(_, it)| it)
        };
        let (theirs, ours) = (first(Direction::In), first(Direction::Out));
        let options = theirs.map_or(&[][..], Segment::options);
        let has = |wanted: &dyn Fn(&TcpOption) -> bool| options.iter().any(wanted);
        let timestamps = setup.is_on("tcp_timestamps", true) && theirs.is_some_and(|syn| syn.timestamps().is_some());
        let sets = |option: &'static str| script.calls().filter(move |call| sets(call, option));
        let announced = sets("TCP_MAXSEG").filter_map(|call| call.number(3)).last();
        let announced_mss = announced.map_or(ETHERNET, |mss| mss.clamp(1, i64::from(ETHERNET)) as u32);
        let named = options.iter().find_map(|option| match option {
            TcpOption::Mss(mss) => *mss,
            _ => None,
        });
        let mss = announced_mss.min(named.unwrap_or(UNNAMED)).max(TIMESTAMPS + 1);
        let shifts = [shift(theirs), shift(ours)];
        // Windows are shifted only if both ends say so (RFC 7323 §2.2).
        let [shift_in, shift_out] = if shifts.contains(&None) { [0, 0] } else { shifts.map(Option::unwrap_or_default) };
        Self {
            announced_mss,
            mss: mss - if timestamps { TIMESTAMPS } else { 0 },
            sack: setup.is_on("tcp_sack", true) && has(&|option| *option == TcpOption::SackPermitted),
            timestamps,
            shift_in,
            shift_out,
            no_delay: sets("TCP_NODELAY").any(|call| call.number(3) != Some(0)),
        }
    }

    /// The bytes of a window that the other end announces.
    #[must_use]
    pub fn window_in(&self, segment: &Segment) -> u32 {
        let window = segment.window.unwrap_or_default();
        // A SYN's window is not shifted (RFC 7323 §2.2).
        if segment.has('S') { window } else { window.checked_shl(self.shift_in.into()).unwrap_or(u32::MAX) }
    }
}

fn sets(call: &Call, option: &str) -> bool {
    call.name == "setsockopt" && call.word(2) == Some(option)
}

fn shift(syn: Option<&Segment>) -> Option<u8> {
    syn.map(|syn| match syn.options {
        crate::script::Options::Any => Some(0),
        crate::script::Options::These(_) => syn.options().iter().find_map(|option| match option {
            TcpOption::WindowScale(shift) => Some((*shift).min(14)),
            _ => None,
        }),
    })?
}

/// The model's parameters.
#[derive(Clone, Debug)]
pub struct Model {
    /// TCP's and the congestion control's.
    pub config: Config,
    /// When the receiver acknowledges.
    pub acking: acking::Config,
    /// Whether the ends use SACK.
    pub sack: bool,
}

/// A profile for which there is no such model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// TCP has no such profile.
    #[error("profile \"{found}\": TCP has {known}")]
    Profile {
        /// The profile.
        found: String,
        /// Those that there are.
        known: String,
    },
    /// There is no such congestion control.
    #[error("net.ipv4.tcp_congestion_control = {0}: no such model")]
    Congestion(String),
}

impl Model {
    /// The profile that is most like Linux: `linux` where TCP has it, otherwise `rfc`.
    #[must_use]
    pub fn usual_profile() -> &'static str {
        if Params::PROFILES.contains(&"linux") { "linux" } else { "rfc" }
    }

    /// The parameters of a script. To the profile `rfc`, Linux's values are added where TCP has a parameter for them.
    ///
    /// # Errors
    /// When TCP has no such profile, or there is no such congestion control.
    pub fn of(
        script: &Script,
        setup: &Setup,
        agreement: &Agreement,
        role: Role,
        profile: &str,
    ) -> Result<Self, ModelError> {
        if !Params::PROFILES.contains(&profile) {
            let known = Params::PROFILES.join(", ");
            return Err(ModelError::Profile { found: profile.to_owned(), known });
        }
        let mut tcp = Params::of_profile(profile);
        tcp = match profile {
            "rfc" => Params { recovery_exit: RecoveryExit::Ssthresh, ..linux_values(tcp) },
            // The times in the scripts are those of kernels whose timers have a grain of 1 ms (HZ 1000).
            "linux" => Params { tick: Span::from_millis(1), ..tcp },
            _ => tcp,
        };
        let control = match (setup.value("tcp_congestion_control").unwrap_or("cubic"), agreement.sack) {
            ("reno", true) => "sack",
            ("reno", false) => "newreno",
            (name, _) => name,
        };
        let windows = script.segments().filter(|(direction, _)| *direction == Direction::In);
        let widest = windows.map(|(_, segment)| agreement.window_in(segment)).max().unwrap_or(0);
        let window = if role == Role::Sender { widest } else { RECEIVE_WINDOW };
        let most = (1 << 30) / agreement.mss;
        tcp = Params {
            segment_size: Bytes::new(agreement.mss.into()),
            window: window.div_ceil(agreement.mss).clamp(1, most),
            nagle: !agreement.no_delay,
            timestamps: agreement.timestamps,
            dsack: setup.is_on("tcp_dsack", true),
            duplicate_threshold: number(setup, "tcp_reordering", 3).max(1),
            tail_loss_probe: agreement.sack && setup.is_on("tcp_early_retrans", true),
            idle_restart: if setup.is_on("tcp_slow_start_after_idle", true) {
                tcp.idle_restart
            } else {
                IdleRestart::Off
            },
            recovery: match (agreement.sack, setup.is_on("tcp_recovery", true)) {
                (false, _) => RecoveryChoice::NewReno,
                (true, false) => RecoveryChoice::Sack,
                (true, true) => RecoveryChoice::Rack,
            },
            linux: linux::Params { sack: agreement.sack, ..tcp.linux },
            ..tcp
        };
        let congestion =
            congestion::Config::of_profile(control, profile).map_err(|_| ModelError::Congestion(control.to_owned()))?;
        Ok(Self { config: Config { tcp, congestion }, acking: acking(profile), sack: agreement.sack })
    }
}

/// Linux's constants: the variance counts 200 ms at least in the timeout, which has no other minimum.
fn linux_values(rfc: Params) -> Params {
    Params {
        tick: Span::from_millis(200),
        min_rto: Span::from_millis(200),
        max_rto: Span::from_secs(120),
        prr: Proportional::On,
        ..rfc
    }
}

/// Linux's acknowledgements where there is a model of them, otherwise delayed ones with Linux's shortest delay.
fn acking(profile: &str) -> acking::Config {
    acking::Config::of_profile("quick", profile).unwrap_or_else(|_| {
        let params =
            acking::delayed::Params { interval: Span::from_millis(40), ..acking::delayed::Params::of_profile(profile) };
        acking::Config::Delayed(params.into())
    })
}

fn number(setup: &Setup, name: &str, otherwise: u32) -> u32 {
    setup.value(name).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(text: &str) -> Agreement {
        let script = crate::parse::parse(text).unwrap();
        Agreement::of(&script, &Setup::of(&script, &|_| None))
    }

    #[test]
    fn the_first_syn_says_what_is_agreed() {
        let found = agreement(
            "0 < S 0:0(0) win 100 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1 ecr 7,nop,wscale 8>\n",
        );
        assert_eq!((found.mss, found.announced_mss, found.sack, found.timestamps), (988, 1460, true, true));
        assert_eq!((found.shift_in, found.shift_out, found.no_delay), (7, 8, false));
    }

    #[test]
    fn this_end_may_refuse() {
        let found = agreement(
            "`sysctl net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0`\n\
             0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [700], 4) = 0\n+0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
             +0 < S 0:0(0) win 100 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <mss 700>\n",
        );
        assert_eq!((found.mss, found.sack, found.timestamps, found.shift_in), (700, false, false, 0));
        assert!(found.no_delay);
        assert_eq!(agreement("0 < S 0:0(0) win 5\n").mss, 536, "RFC 9293 §3.7.1");
    }

    #[test]
    fn unknown_models_are_named() {
        let script = crate::parse::parse("`sysctl net.ipv4.tcp_congestion_control=swift`").unwrap();
        let setup = Setup::of(&script, &|_| None);
        let model = |profile| {
            let agreement = Agreement::of(&script, &setup);
            Model::of(&script, &setup, &agreement, Role::Sender, profile).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(model("rfc"), "net.ipv4.tcp_congestion_control = swift: no such model");
        assert!(model("bsd").starts_with("profile \"bsd\": TCP has rfc"));
    }
}
