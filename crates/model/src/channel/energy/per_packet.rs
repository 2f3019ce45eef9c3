//! Energy by packet: each operation on a packet costs a fixed energy and one for each byte.
//!
//! Read: Feeney and Nilsson, "Investigating the energy consumption of a wireless network interface in an ad hoc
//! networking environment", INFOCOM 2001; the constants are those of Feeney, "An energy consumption model for
//! performance analysis of routing protocols for mobile ad hoc networks", MONET 2001, for a WaveLAN card at 2 Mb/s.
//!
//! The costs are increments over an idle radio. The control frames of an exchange (RTS, CTS, ACK) are part of the fixed
//! cost of the packet. The bytes are the bytes of the IP packet; the headers of the MAC and of the physical layer are
//! part of the fixed cost too. A packet costs its sender when its frame begins, and its receivers when it ends. A frame
//! that is not decoded costs nothing. A frame that is sent again costs again.
//!
//! Left out: sleep, the cost of a broken exchange, and the cost of a promiscuous radio that has not decoded a frame.

use hopyard_engine::units::{Draw, Energy, EnergyPerByte, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attojoules, PacketPrices, Price, Priced, Prices, attojoules, nanowatts};
use crate::params;

/// The cost of an operation on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// For each packet.
    pub fixed: Energy,
    /// For each of its bytes. A negative cost is less than an idle radio takes.
    pub per_byte: EnergyPerByte,
}

impl Cost {
    const fn new(microjoules: f64, per_byte: f64) -> Self {
        Self { fixed: Energy::new(microjoules / 1e6), per_byte: EnergyPerByte::new(per_byte) }
    }

    fn price(self) -> Price {
        let per_byte = libm::round(self.per_byte.microjoules() * 1e12) as Attojoules;
        Price { fixed: attojoules(self.fixed), per_byte }
    }
}

/// The costs of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Power of an idle radio, which is paid all the time.
    pub idle: Draw,
    /// Sending to one receiver.
    pub send: Cost,
    /// Receiving from a sender that sent to this radio alone.
    pub receive: Cost,
    /// Sending to all.
    pub send_broadcast: Cost,
    /// Receiving what was sent to all.
    pub receive_broadcast: Cost,
    /// Decoding what is for others, by a radio that passes it up (promiscuous mode).
    pub overhear: Cost,
    /// Decoding what is for others, by any other radio.
    pub discard: Cost,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            idle: Draw::new(0.8),
            send: Cost::new(420.0, 1.9),
            receive: Cost::new(330.0, 0.42),
            send_broadcast: Cost::new(250.0, 1.9),
            receive_broadcast: Cost::new(56.0, 0.5),
            overhear: Cost::new(136.0, 0.388),
            discard: Cost::new(97.2, -0.49),
        }
    }
}

impl Params {
    /// A cost whose radios gain energy by frames at a rate, as the parameter and the least cost for each byte: what an
    /// idle radio takes meanwhile is less than the frame saves.
    #[must_use]
    pub fn gains_at(&self, rate: Rate) -> Option<(&'static str, EnergyPerByte)> {
        let least = EnergyPerByte::new(-8e6 * self.idle.watts() / rate.bps() as f64);
        let hearing = [
            ("receive.per_byte", self.receive),
            ("receive_broadcast.per_byte", self.receive_broadcast),
            ("overhear.per_byte", self.overhear),
            ("discard.per_byte", self.discard),
        ];
        let gains = hearing.into_iter().find(|(_, cost)| cost.per_byte.microjoules() < least.microjoules());
        gains.map(|(name, _)| (name, least))
    }
}

impl Priced for Params {
    fn prices(&self) -> Option<Prices> {
        Some(Prices {
            send: 0,
            hear: 0,
            idle: nanowatts(self.idle),
            sleep: None,
            only_decodable: false,
            packets: Some(PacketPrices {
                send: self.send.price(),
                receive: self.receive.price(),
                send_broadcast: self.send_broadcast.price(),
                receive_broadcast: self.receive_broadcast.price(),
                overhear: self.overhear.price(),
                discard: self.discard.price(),
            }),
        })
    }
}
