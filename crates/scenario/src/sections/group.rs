//! Multicast groups, and the destinations of flows.

use std::net::Ipv4Addr;

use hopyard_model::address::Address;
use hopyard_model::params::{Fault, Given, Params, read_given};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// The group of all nodes with radios.
pub(crate) const ALL: &str = "all";

/// The word for the last node.
const LAST: &str = "last";

/// `[multicast]`: how datagrams for groups are forwarded; parameters are in `[multicast.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multicast {
    /// The forwarding protocol of every node with a radio, where a flow goes to a group.
    pub protocol: String,
}

impl Default for Multicast {
    fn default() -> Self {
        Self { protocol: "classic_flooding".to_owned() }
    }
}

section!(Multicast);

/// `[[group]]`: a multicast group, to which flows over UDP may go (`to = "NAME"`). There is also the group "all" of all
/// nodes with radios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name: letters, digits, "-", "_" and ".".
    pub name: String,
    /// The numbers of its members, which have radios. They get what others send to the group, and nothing of their own.
    pub members: Vec<u32>,
    /// Its address, one of 224.0.1.0 to 239.255.255.255; "auto": the next free one of 239.0.0.0/8.
    pub address: String,
}

impl Default for Group {
    fn default() -> Self {
        // Name and members are required: these stand for any.
        Self { name: "group".to_owned(), members: vec![0], address: AUTO.to_owned() }
    }
}

const AUTO: &str = "auto";

section!(Group, |group| {
    let name = &group.name;
    if name.is_empty() || !name.chars().all(|it| it.is_alphanumeric() || "-_.".contains(it)) {
        let problem = format!("expected letters, digits, \"-\", \"_\" and \".\", found {name:?}");
        return Err(Fault::new("name", problem));
    }
    if [ALL, LAST].contains(&name.as_str()) || name.parse::<u32>().is_ok() {
        let problem = format!("expected a name that is no number, and neither \"all\" nor \"last\"; found {name:?}");
        return Err(Fault::new("name", problem));
    }
    if group.members.is_empty() {
        return Err(Fault::new("members", "expected at least one node, found a group of nobody"));
    }
    let members = group.members.iter().enumerate();
    let twice = members.filter(|(place, node)| group.members[..*place].contains(node));
    Fault::of_elements("members", twice.map(|(i, node)| (i, format!("node {node} is in the list twice"))).collect())?;
    if group.address != AUTO && group.given().is_none() {
        let problem = format!(
            "expected \"auto\", or an address from 224.0.1.0 to 239.255.255.255, such as \"239.1.2.3\"; found {:?}",
            group.address
        );
        return Err(Fault::new("address", problem));
    }
    Ok(())
});

impl Group {
    /// Its address, if the scenario gives one that can be.
    pub(crate) fn given(&self) -> Option<Ipv4Addr> {
        let address = self.address.parse().ok()?;
        Address::of_group(address).is_some_and(Address::is_wide_group).then_some(address)
    }
}

/// The addresses of these groups, and at last the address of the group of all nodes.
pub(crate) fn addresses(groups: &[Group]) -> Vec<Ipv4Addr> {
    let mut free = (1_u32..).map(|number| Ipv4Addr::from_bits(Ipv4Addr::new(239, 0, 0, 0).to_bits() + number));
    let mut next = || free.find(|it| !groups.iter().any(|group| group.given() == Some(*it)));
    let given = groups.iter().map(Group::given).chain([None]);
    given.filter_map(|given| given.or_else(&mut next)).collect()
}

/// The destinations of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum To {
    /// A node.
    Node(u32),
    /// Several nodes. Each gets its own packets.
    Nodes(Vec<u32>),
    /// A multicast group.
    Group(String),
}

impl To {
    /// The nodes that are named; of a group, none.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        match self {
            Self::Node(node) => std::slice::from_ref(node),
            Self::Nodes(nodes) => nodes,
            Self::Group(_) => &[],
        }
    }

    /// The group.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        if let Self::Group(name) = self { Some(name) } else { None }
    }
}

const TO: &str = "a whole number from 0 to 4294967295, \"last\" where [nodes] says how many nodes there are, a list of \
                  numbers, the name of a [[group]], or \"all\"";

impl<'de> Deserialize<'de> for To {
    /// Reads destinations. The word "last" has been replaced before, where the number of nodes is known.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, TO, |given| match given {
            Given::Whole(node) => node.try_into().ok().map(Self::Node),
            Given::Word(name) => (name != LAST).then(|| Self::Group(name.to_owned())),
            Given::List(nodes) => Some(Self::Nodes(nodes)),
            _ => None,
        })
    }
}

impl JsonSchema for To {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "To".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let node = json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
        json_schema!({
            "anyOf": [node, { "type": "array", "items": node, "minItems": 1, "uniqueItems": true }, { "type": "string" }],
            "description": "a whole number, \"last\", a list of numbers, the name of a group, or \"all\"",
            "examples": [0, "last", [1, 2], "all"],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(name: &str, members: &[u32], address: &str) -> Group {
        Group { name: name.to_owned(), members: members.to_vec(), address: address.to_owned() }
    }

    #[test]
    fn destinations_are_read_back() {
        for (value, nodes, name) in [
            (json!(3), &[3][..], None),
            (json!([4, 1]), &[4, 1], None),
            (json!("scouts"), &[], Some("scouts")),
            (json!("all"), &[], Some("all")),
        ] {
            let to: To = serde_json::from_value(value.clone()).expect("destinations");
            assert_eq!((to.nodes(), to.group()), (nodes, name), "{value}");
            assert_eq!(serde_json::to_value(&to).ok(), Some(value));
        }
        for (value, found) in [(json!("last"), "\"last\""), (json!(-1), "-1"), (json!(true), "true")] {
            let error = serde_json::from_value::<To>(value).expect_err("no destinations").to_string();
            assert!(error.contains(found) && error.contains("[[group]]"), "{error}");
        }
    }

    #[test]
    fn impossible_groups_are_named() {
        let fault = |group: &Group| group.check().err().map(|fault| fault.parameter);
        assert_eq!(fault(&group("a", &[1, 2], "auto")), None);
        assert_eq!(fault(&group("a", &[], "auto")), Some("members"));
        assert_eq!(fault(&group("a", &[1, 2, 1], "auto")), Some("members"));
        for name in ["", "a b", "all", "last", "7"] {
            assert_eq!(fault(&group(name, &[1], "auto")), Some("name"), "{name:?}");
        }
        for address in ["224.0.1.0", "239.255.255.255"] {
            assert_eq!(fault(&group("a", &[1], address)), None, "{address}");
        }
        for address in ["", "10.0.0.1", "224.0.0.255", "240.0.0.0", "255.255.255.255", "239.1.2"] {
            assert_eq!(fault(&group("a", &[1], address)), Some("address"), "{address:?}");
        }
    }

    #[test]
    fn groups_without_an_address_get_the_next_free_one() {
        let groups = ["auto", "239.0.0.2", "auto", "239.9.9.9"].map(|address| group("a", &[1], address));
        let found: Vec<String> = addresses(&groups).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["239.0.0.1", "239.0.0.2", "239.0.0.3", "239.9.9.9", "239.0.0.4"]);
    }
}
