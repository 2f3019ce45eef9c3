//! The codes of registration replies.

/// The code of a reply: it accepts the registration, or gives the reason for the refusal (RFC 5944 §3.4; RFC 3024 §3.4
/// for 74 to 76, 79 and 137 to 139).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u8);

/// The agent that refuses a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denier {
    /// The foreign agent.
    ForeignAgent,
    /// The home agent.
    HomeAgent,
}

impl Code {
    /// Accepted.
    pub const ACCEPTED: Self = Self(0);
    /// Accepted, but simultaneous bindings are not supported.
    pub const ACCEPTED_WITHOUT_SIMULTANEOUS: Self = Self(1);

    /// Foreign agent: no reason given.
    pub const FA_UNSPECIFIED: Self = Self(64);
    /// Foreign agent: administratively prohibited.
    pub const FA_PROHIBITED: Self = Self(65);
    /// Foreign agent: insufficient resources.
    pub const FA_RESOURCES: Self = Self(66);
    /// Foreign agent: the mobile node failed authentication.
    pub const FA_MOBILE_AUTHENTICATION: Self = Self(67);
    /// Foreign agent: the home agent failed authentication.
    pub const FA_HOME_AGENT_AUTHENTICATION: Self = Self(68);
    /// Foreign agent: the requested lifetime is too long. The reply's lifetime is the longest that it accepts.
    pub const FA_LIFETIME: Self = Self(69);
    /// Foreign agent: poorly formed request.
    pub const FA_POOR_REQUEST: Self = Self(70);
    /// Foreign agent: poorly formed reply.
    pub const FA_POOR_REPLY: Self = Self(71);
    /// Foreign agent: the requested encapsulation is unavailable.
    pub const FA_ENCAPSULATION: Self = Self(72);
    /// Foreign agent: reserved and unavailable.
    pub const FA_RESERVED: Self = Self(73);
    /// Foreign agent: the requested reverse tunnel is unavailable.
    pub const FA_REVERSE_TUNNEL: Self = Self(74);
    /// Foreign agent: a reverse tunnel is mandatory, and T is not set.
    pub const FA_REVERSE_TUNNEL_MANDATORY: Self = Self(75);
    /// Foreign agent: the mobile node is too distant.
    pub const FA_TOO_DISTANT: Self = Self(76);
    /// Foreign agent: invalid care-of address.
    pub const FA_CARE_OF: Self = Self(77);
    /// Foreign agent: the home agent did not reply in time.
    pub const FA_TIMEOUT: Self = Self(78);
    /// Foreign agent: the delivery style is not supported.
    pub const FA_DELIVERY_STYLE: Self = Self(79);
    /// Foreign agent: the home network is unreachable, by an ICMP error.
    pub const FA_HOME_NETWORK_UNREACHABLE: Self = Self(80);
    /// Foreign agent: the home agent's host is unreachable, by an ICMP error.
    pub const FA_HOME_AGENT_HOST_UNREACHABLE: Self = Self(81);
    /// Foreign agent: the home agent's port is unreachable, by an ICMP error.
    pub const FA_HOME_AGENT_PORT_UNREACHABLE: Self = Self(82);
    /// Foreign agent: the home agent is unreachable, by another ICMP error.
    pub const FA_HOME_AGENT_UNREACHABLE: Self = Self(88);
    /// Foreign agent: invalid home agent address.
    pub const FA_HOME_AGENT_ADDRESS: Self = Self(194);

    /// Home agent: no reason given.
    pub const HA_UNSPECIFIED: Self = Self(128);
    /// Home agent: administratively prohibited.
    pub const HA_PROHIBITED: Self = Self(129);
    /// Home agent: insufficient resources.
    pub const HA_RESOURCES: Self = Self(130);
    /// Home agent: the mobile node failed authentication.
    pub const HA_MOBILE_AUTHENTICATION: Self = Self(131);
    /// Home agent: the foreign agent failed authentication.
    pub const HA_FOREIGN_AGENT_AUTHENTICATION: Self = Self(132);
    /// Home agent: the identification does not match.
    pub const HA_IDENTIFICATION: Self = Self(133);
    /// Home agent: poorly formed request.
    pub const HA_POOR_REQUEST: Self = Self(134);
    /// Home agent: too many simultaneous bindings.
    pub const HA_TOO_MANY_BINDINGS: Self = Self(135);
    /// Home agent: unknown home agent address.
    pub const HA_UNKNOWN_HOME_AGENT: Self = Self(136);
    /// Home agent: the requested reverse tunnel is unavailable.
    pub const HA_REVERSE_TUNNEL: Self = Self(137);
    /// Home agent: a reverse tunnel is mandatory, and T is not set.
    pub const HA_REVERSE_TUNNEL_MANDATORY: Self = Self(138);
    /// Home agent: the requested encapsulation is unavailable.
    pub const HA_ENCAPSULATION: Self = Self(139);

    /// Every code that has a name, in order.
    pub const ALL: [Self; 35] = [
        Self::ACCEPTED,
        Self::ACCEPTED_WITHOUT_SIMULTANEOUS,
        Self::FA_UNSPECIFIED,
        Self::FA_PROHIBITED,
        Self::FA_RESOURCES,
        Self::FA_MOBILE_AUTHENTICATION,
        Self::FA_HOME_AGENT_AUTHENTICATION,
        Self::FA_LIFETIME,
        Self::FA_POOR_REQUEST,
        Self::FA_POOR_REPLY,
        Self::FA_ENCAPSULATION,
        Self::FA_RESERVED,
        Self::FA_REVERSE_TUNNEL,
        Self::FA_REVERSE_TUNNEL_MANDATORY,
        Self::FA_TOO_DISTANT,
        Self::FA_CARE_OF,
        Self::FA_TIMEOUT,
        Self::FA_DELIVERY_STYLE,
        Self::FA_HOME_NETWORK_UNREACHABLE,
        Self::FA_HOME_AGENT_HOST_UNREACHABLE,
        Self::FA_HOME_AGENT_PORT_UNREACHABLE,
        Self::FA_HOME_AGENT_UNREACHABLE,
        Self::HA_UNSPECIFIED,
        Self::HA_PROHIBITED,
        Self::HA_RESOURCES,
        Self::HA_MOBILE_AUTHENTICATION,
        Self::HA_FOREIGN_AGENT_AUTHENTICATION,
        Self::HA_IDENTIFICATION,
        Self::HA_POOR_REQUEST,
        Self::HA_TOO_MANY_BINDINGS,
        Self::HA_UNKNOWN_HOME_AGENT,
        Self::HA_REVERSE_TUNNEL,
        Self::HA_REVERSE_TUNNEL_MANDATORY,
        Self::HA_ENCAPSULATION,
        Self::FA_HOME_AGENT_ADDRESS,
    ];

    /// Whether the registration is accepted.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::ACCEPTED | Self::ACCEPTED_WITHOUT_SIMULTANEOUS)
    }

    /// The agent that refuses the registration, by the range of the code; `None` if it is accepted, or the code is in
    /// no range.
    #[must_use]
    pub const fn denied_by(self) -> Option<Denier> {
        match self.0 {
            64..=127 | 194 => Some(Denier::ForeignAgent),
            128..=192 => Some(Denier::HomeAgent),
            _ => None,
        }
    }

    /// The code's name in tables; `None` if it has none here.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::ACCEPTED => "accepted",
            Self::ACCEPTED_WITHOUT_SIMULTANEOUS => "accepted_without_simultaneous_bindings",
            Self::FA_UNSPECIFIED => "fa_unspecified",
            Self::FA_PROHIBITED => "fa_administratively_prohibited",
            Self::FA_RESOURCES => "fa_insufficient_resources",
            Self::FA_MOBILE_AUTHENTICATION => "fa_mobile_node_failed_authentication",
            Self::FA_HOME_AGENT_AUTHENTICATION => "fa_home_agent_failed_authentication",
            Self::FA_LIFETIME => "fa_lifetime_too_long",
            Self::FA_POOR_REQUEST => "fa_poorly_formed_request",
            Self::FA_POOR_REPLY => "fa_poorly_formed_reply",
            Self::FA_ENCAPSULATION => "fa_encapsulation_unavailable",
            Self::FA_RESERVED => "fa_reserved_and_unavailable",
            Self::FA_REVERSE_TUNNEL => "fa_reverse_tunnel_unavailable",
            Self::FA_REVERSE_TUNNEL_MANDATORY => "fa_reverse_tunnel_mandatory",
            Self::FA_TOO_DISTANT => "fa_mobile_node_too_distant",
            Self::FA_CARE_OF => "fa_invalid_care_of_address",
            Self::FA_TIMEOUT => "fa_registration_timeout",
            Self::FA_DELIVERY_STYLE => "fa_delivery_style_not_supported",
            Self::FA_HOME_NETWORK_UNREACHABLE => "fa_home_network_unreachable",
            Self::FA_HOME_AGENT_HOST_UNREACHABLE => "fa_home_agent_host_unreachable",
            Self::FA_HOME_AGENT_PORT_UNREACHABLE => "fa_home_agent_port_unreachable",
            Self::FA_HOME_AGENT_UNREACHABLE => "fa_home_agent_unreachable",
            Self::FA_HOME_AGENT_ADDRESS => "fa_invalid_home_agent_address",
            Self::HA_UNSPECIFIED => "ha_unspecified",
            Self::HA_PROHIBITED => "ha_administratively_prohibited",
            Self::HA_RESOURCES => "ha_insufficient_resources",
            Self::HA_MOBILE_AUTHENTICATION => "ha_mobile_node_failed_authentication",
            Self::HA_FOREIGN_AGENT_AUTHENTICATION => "ha_foreign_agent_failed_authentication",
            Self::HA_IDENTIFICATION => "ha_identification_mismatch",
            Self::HA_POOR_REQUEST => "ha_poorly_formed_request",
            Self::HA_TOO_MANY_BINDINGS => "ha_too_many_simultaneous_bindings",
            Self::HA_UNKNOWN_HOME_AGENT => "ha_unknown_home_agent_address",
            Self::HA_REVERSE_TUNNEL => "ha_reverse_tunnel_unavailable",
            Self::HA_REVERSE_TUNNEL_MANDATORY => "ha_reverse_tunnel_mandatory",
            Self::HA_ENCAPSULATION => "ha_encapsulation_unavailable",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_name_and_a_denier() {
        let names: BTreeSet<_> = Code::ALL.iter().filter_map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted());
        // The prefix of a name says who refuses.
        for code in Code::ALL {
            let prefix = match code.denied_by() {
                None => "accepted",
                Some(Denier::ForeignAgent) => "fa_",
                Some(Denier::HomeAgent) => "ha_",
            };
            assert!(code.name().is_some_and(|name| name.starts_with(prefix)), "{code:?}");
            assert_eq!(code.is_accepted(), code.denied_by().is_none());
        }
        let named = (0..=255).filter(|&code| Code(code).name().is_some()).count();
        assert_eq!(named, Code::ALL.len());
        assert_eq!((Code(2).name(), Code(2).denied_by(), Code(2).is_accepted()), (None, None, false));
    }
}
