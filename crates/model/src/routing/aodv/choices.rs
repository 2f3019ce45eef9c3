//! The choices of AODV's parameters.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Whose procedures are followed where they differ in more than a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// RFC 3561.
    Rfc3561,
    /// ns-2.35, to the letter.
    Ns2,
    /// AODV-UU, as it runs in ns-2.
    Uu,
}

/// Which nodes are gateways to the Internet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum Gateways {
    /// Every node with a radio and a wire.
    #[serde(serialize_with = "auto")]
    Auto,
    /// No node.
    #[serde(serialize_with = "off")]
    Off,
    /// These nodes.
    Nodes(Vec<u32>),
}

fn auto<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("auto")
}

fn off<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("off")
}

const GATEWAYS: &str = "\"auto\", \"off\", or a list of nodes such as [4, 9]";

impl TryFrom<Value> for Gateways {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::String(text) if text == "auto" => return Ok(Self::Auto),
            Value::String(text) if text == "off" => return Ok(Self::Off),
            Value::Array(nodes) => {
                let node = |it: &Value| it.as_u64().and_then(|it| u32::try_from(it).ok());
                if let Some(nodes) = nodes.iter().map(node).collect::<Option<Vec<u32>>>()
                    && !nodes.is_empty()
                {
                    return Ok(Self::Nodes(nodes));
                }
            }
            _ => {}
        }
        Err(format!("expected {GATEWAYS}, found {value}"))
    }
}

impl JsonSchema for Gateways {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Gateways".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": GATEWAYS,
            "anyOf": [
                { "type": "string", "enum": ["auto", "off"] },
                { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            ],
        })
    }
}

/// How packets go to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToGateway {
    /// The source puts each packet into another one, for the gateway (IP in IP).
    HalfTunnel,
    /// Each node on the way sends the packet towards a gateway that it knows.
    DefaultRoute,
}

/// How a source decides that a host is outside the ad hoc network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// A gateway that answers is believed: it knows the prefixes.
    Prefix,
    /// When no node of the ad hoc network has answered to a whole search.
    NoAnswer,
}

/// When ns-2's attempt at a local repair is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepairTimer {
    /// As its source does. The *instant* at which the request expires is taken for a delay, so that late in a run the
    /// timer hardly ever fires. No error is sent.
    Literal,
    /// As its comments say: when the request expires, with an error sent upstream.
    Intended,
}
