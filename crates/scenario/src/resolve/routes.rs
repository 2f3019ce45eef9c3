//! The routes of `[routing.static]`, as far as the scenario writes them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::resolved::Resolved;

/// The routes of `[routing.static]`.
pub(super) struct WrittenRoutes {
    routes: BTreeMap<(u32, u32), u32>,
    others: String,
}

impl WrittenRoutes {
    /// The routes of a scenario, if its routing is static.
    pub(super) fn of(resolved: &Resolved) -> Option<Self> {
        if resolved.routing.model.name != "static" {
            return None;
        }
        let number = |route: &Value, key: &str| route.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
        let routes = resolved.routing.values.get("routes")?.as_array()?.iter();
        let routes = routes.filter_map(|r| Some(((number(r, "at")?, number(r, "to")?), number(r, "via")?))).collect();
        Some(Self { routes, others: resolved.routing.values.get("others")?.as_str()?.to_owned() })
    }

    /// The hops of a packet that the static routes and the rule for other destinations prescribe; nothing if it does
    /// not arrive. They end where a shortest path begins: whether there is one depends on the places of the nodes.
    pub(super) fn hops(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let mut hops = Vec::new();
        let mut at = from;
        // The largest number of hops that a TTL can count. A longer route is a loop.
        for _ in 0..=u8::MAX {
            if at == to {
                return Some(hops);
            }
            let next = match (self.routes.get(&(at, to)), self.others.as_str()) {
                (Some(via), _) => *via,
                (None, "direct") => to,
                (None, "shortest") => return Some(hops),
                (None, "chain") => {
                    if to > at {
                        at + 1
                    } else {
                        at - 1
                    }
                }
                (None, _) => return None,
            };
            hops.push((at, next));
            at = next;
        }
        None
    }
}
