//! The configuration hash: equal for scenarios with the same meaning.
//!
//! Every struct is destructured without `..`. A new field therefore does not compile until it is part of the hash, or
//! is listed here as a field that changes no run.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use hopyard_model::app::Format;
use hopyard_model::link::wired;
use hopyard_model::link::wired::trace;
use hopyard_model::mobility::movement_file::Params;
use hopyard_model::packet::Dscp;
use hopyard_model::phy;
use hopyard_model::phy::propagation::{self, table};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::files::{ErrorFile, LinkFile, MovementFile, TraceFile, TrafficFile};
use crate::place::Place;
use crate::resolve::{Chosen, Congestion, FlowKind, FurtherChannel, Moving, RandomFlows, Resolved, TcpKind, Typed};
use crate::sections::{
    Address, Battery, Channel, Energy, Flow, Flows, ForeignAgent, Group, Head, HomeAgent, Host, Linux, Measure,
    MobileHost, Movement, Sleep, System, Tunnel, Wifi, Wire,
};

/// The hash of everything that determines a run, except its seed and number.
pub(crate) fn hash(resolved: &Resolved) -> u64 {
    // `complete` contains the same values again; `simulator` changes no result.
    let Resolved {
        head,
        nodes,
        positions,
        mobility,
        movements,
        files,
        links,
        errors,
        traffic: named,
        traces,
        radio,
        propagation,
        fading,
        mac,
        rates,
        channels,
        obstacles,
        jammers,
        energy,
        energy_model,
        batteries,
        sleeps,
        addresses,
        link,
        queue,
        ip,
        routing,
        agents,
        multicast,
        groups,
        flows,
        random_flows,
        linux,
        hosts,
        wires,
        wire_queues,
        tunnels,
        home_agents,
        foreign_agents,
        mobile_hosts,
        measure,
        simulator: _,
        complete: _,
    } = resolved;
    // The profile selected the defaults, which are all included here. The number of runs changes none of the runs.
    let Head { name: _, profile: _, duration, runs: _, seed: _ } = head;
    // The others only observe the run.
    let Measure { from, series: _, interval: _, routes: _, rates: _, paths: _, mobile_events: _, segments: _ } =
        measure;
    let mut nodes = json!(nodes);
    if let Some(nodes) = nodes.as_object_mut() {
        // Only scenarios with Linux nodes have this key in their hash.
        if resolved.nodes.system == System::Hopyard {
            nodes.remove("system");
        }
        // If positions are listed, only the list matters, not the rule that produced it.
        if !positions.is_empty() {
            nodes.retain(|key, _| ["count", "wired", "network", "system"].contains(&key.as_str()));
        }
    }
    let moving = |model: &Moving| moving(model, files);
    // A class of traffic enters the hash only where a flow has one.
    let classed = |mut flow: Value, dscp: Dscp| {
        if let (Value::Array(values), true) = (&mut flow, dscp != Dscp::default()) {
            values.push(json!(dscp));
        }
        flow
    };
    let flow = |(flow, carried): &(Flow, FlowKind)| {
        // The flow's transport determines which models it uses, with their parameters.
        let Flow { from, to, tcp: _, udp: _, acking: _, traffic: _, stack, start, stop, label, dscp } = flow;
        // A label changes rows, though no run.
        classed(json!([from, to, start, stop, flow_kind(carried, named), stack, label]), *dscp)
    };
    let random = |set: &RandomFlows| {
        // One table and a list of one table are the same.
        let RandomFlows { flows, kind: carried, number: _ } = set;
        let Flows { random, share, pairs, tcp: _, udp: _, acking: _, traffic: _, stack, start, stop, label, dscp } =
            flows;
        classed(json!([random, share, pairs, start, stop, flow_kind(carried, named), stack, label]), *dscp)
    };
    let movement = |(movement, moved): &(Movement, Moving)| {
        let Movement { nodes, model: _ } = movement;
        json!([nodes, moving(moved)])
    };
    let channel = |it: &FurtherChannel| {
        let FurtherChannel { channel, radio, propagation, fading, mac, rates } = it;
        let Channel { nodes, propagation: _, fading: _, mac: _, rate_control: _, network } = channel;
        let mut all =
            json!([nodes, network, of_radio(radio, errors), losses(propagation, links), chosen(fading), chosen(mac)]);
        if let Some(all) = all.as_array_mut().filter(|_| !rates.config.is_fixed()) {
            all.push(chosen(rates));
        }
        all
    };
    let address = |address: &Address| {
        let Address { node, address } = address;
        json!([node, address])
    };
    let tunnel = |tunnel: &Tunnel| {
        let Tunnel { between, carries, carries_back } = tunnel;
        json!([between, carries, carries_back])
    };
    let wire = |(wire, link): &(Wire, Typed<wired::Params>)| {
        let Wire { between, network, queue: _ } = wire;
        json!([between, network, of_wire(link, traces)])
    };
    let Energy { model: _, battery } = energy;
    let of_nodes = |it: &Battery| {
        let Battery { nodes, capacity } = it;
        json!([nodes, capacity])
    };
    let sleep = |it: &Sleep| {
        let Sleep { nodes, times, every } = it;
        json!([nodes, times, every])
    };
    let home = |it: &HomeAgent| {
        let HomeAgent { node, network, wires, first, restarts, down, deny, refuses, forged, malformed } = it;
        json!([node, network, wires, first, restarts, down, deny, refuses, forged, malformed])
    };
    let foreign = |it: &ForeignAgent| {
        let ForeignAgent { node, network, wires, first, restarts, down, deny, refuses, forged } = it;
        json!([node, network, wires, first, restarts, down, deny, refuses, forged])
    };
    let mobile = |it: &MobileHost| {
        let MobileHost { nodes, home, forged, forged_foreign, malformed } = it;
        json!([nodes, home, forged, forged_foreign, malformed])
    };
    let host = |it: &Host| {
        let Host { node, run, start, environment, folder } = it;
        json!([node, run, start, environment, folder])
    };
    let mut identity = json!({
        "duration": duration,
        "nodes": nodes,
        "positions": positions.iter().copied().map(Place).collect::<Vec<_>>(),
        "mobility": moving(mobility),
        "movements": movements.iter().map(movement).collect::<Vec<_>>(),
        "radio": of_radio(radio, errors),
        "propagation": losses(propagation, links),
        "fading": chosen(fading),
        "mac": chosen(mac),
        "channels": channels.iter().map(channel).collect::<Vec<_>>(),
        "energy": [chosen(energy_model), battery, batteries.iter().map(of_nodes).collect::<Vec<_>>()],
        "sleep": sleeps.iter().map(sleep).collect::<Vec<_>>(),
        "tunnels": tunnels.iter().map(tunnel).collect::<Vec<_>>(),
        "addresses": addresses.iter().map(address).collect::<Vec<_>>(),
        "link": link,
        "ip": ip,
        "routing": chosen(routing),
        "agents": agents.iter().map(chosen).collect::<Vec<_>>(),
        "flows": flows.iter().map(flow).collect::<Vec<_>>(),
        "random_flows": random_flows.iter().map(random).collect::<Vec<_>>(),
        "hosts": hosts.iter().map(host).collect::<Vec<_>>(),
        "wires": wires.iter().map(wire).collect::<Vec<_>>(),
        "home_agents": home_agents.iter().map(home).collect::<Vec<_>>(),
        "foreign_agents": foreign_agents.iter().map(foreign).collect::<Vec<_>>(),
        "mobile_hosts": mobile_hosts.iter().map(mobile).collect::<Vec<_>>(),
        "measure": from,
    });
    if resolved.uses_linux() {
        // A kernel wakes up for each sample.
        let Linux { version, completion, sysctls, sample, memory, westwood, routing, mtu, nodes: some, .. } = linux;
        let Linux { wifi, wifi_channel, beacon_interval, .. } = linux;
        identity["linux"] = json!([version, completion, sysctls, sample, memory, westwood]);
        if resolved.nodes.system == System::Linux {
            let its = identity["routing"].take();
            identity["routing"] = json!([routing, mtu]);
            if !some.is_empty() {
                identity["mixed"] = json!([some, its]);
            }
            if *wifi != Wifi::Off {
                identity["wifi"] = json!([wifi, wifi_channel, beacon_interval]);
            }
        }
    }
    if !rates.config.is_fixed() {
        identity["rates"] = chosen(rates);
    }
    // Queues enter the hash only where one is not drop-tail.
    let queues: Vec<_> = iter::once(queue).chain(wire_queues).collect();
    if queues.iter().any(|it| !it.config.is_drop_tail()) {
        identity["queues"] = queues.into_iter().map(chosen).collect();
    }
    // Without a flow to a group nothing of groups matters.
    if flows.iter().any(|(flow, _)| flow.to.group().is_some()) {
        let group = |it: &Group| {
            let Group { name, members, address } = it;
            json!([name, members, address])
        };
        identity["groups"] = json!([chosen(multicast), groups.iter().map(group).collect::<Vec<_>>()]);
    }
    if !jammers.is_empty() {
        identity["jammers"] = json!(jammers);
    }
    if !obstacles.is_empty() {
        identity["obstacles"] = json!(obstacles);
    }
    xxh3_64(sorted(identity).to_string().as_bytes())
}

/// A model with its parameters.
fn chosen<C>(chosen: &Chosen<C>) -> Value {
    json!([chosen.model.name, chosen.values])
}

/// A movement model with its parameters. Of a movement file the content is included, not its path.
fn moving(model: &Moving, files: &BTreeMap<Params, Arc<MovementFile>>) -> Value {
    let mut all = chosen(model);
    if let Some(file) = model.file().and_then(|params| files.get(params)) {
        all[1]["path"] = json!(format!("{:016x}", file.hash));
    }
    all
}

/// The parameters of radios. Parameters of single nodes and error rates of a file enter the hash only where they are
/// used; of the file the content, not its path.
fn of_radio(radio: &Typed<phy::Params>, errors: &BTreeMap<String, Arc<ErrorFile>>) -> Value {
    let mut all = json!(radio);
    let Some(values) = all.as_object_mut() else { return all };
    if radio.single.is_empty() {
        values.remove("single");
    }
    match errors.get(&radio.error_rates) {
        Some(file) => _ = values.insert("error_rates".to_owned(), json!(format!("{:016x}", file.hash))),
        None => _ = values.remove("error_rates"),
    }
    all
}

/// The parameters of a wire. Traces enter the hash only where they are used; of a trace the content, not its path.
fn of_wire(link: &Typed<wired::Params>, traces: &BTreeMap<(trace::Format, String), Arc<TraceFile>>) -> Value {
    let mut all = json!(link);
    let Some(values) = all.as_object_mut() else { return all };
    if link.trace_end == trace::End::Hold {
        values.remove("trace_end");
    }
    for key in ["trace", "trace_back", "opportunities", "opportunities_back"] {
        values.remove(key);
    }
    for (key, format, path) in link.traces().into_iter().flatten() {
        if let Some(file) = traces.get(&(format, path.to_owned())) {
            values.insert(key.to_owned(), json!(format!("{:016x}", file.hash)));
        }
    }
    all
}

/// Path loss with its parameters. Of a file of links the content is included, not its path.
fn losses(model: &Chosen<propagation::Config>, files: &BTreeMap<table::Params, Arc<LinkFile>>) -> Value {
    let mut all = chosen(model);
    if let Some(file) = model.table().and_then(|params| files.get(params)) {
        all[1]["path"] = json!(format!("{:016x}", file.hash));
    }
    all
}

/// Transport and traffic. Of a file of sizes and times the content is included, not its path.
fn flow_kind(kind: &FlowKind, named: &BTreeMap<(Format, String), Arc<TrafficFile>>) -> Value {
    let FlowKind { tcp, traffic } = kind;
    let tcp = tcp.as_ref().map(|tcp| {
        let TcpKind { machine, congestion, acking } = tcp;
        let congestion = match congestion {
            Congestion::Model(model) => chosen(model),
            Congestion::External(external) => json!([external.name(), external.identity()]),
        };
        let mut machine = json!(machine);
        if let Some(values) = machine.as_object_mut().filter(|values| values.get("ecn") == Some(&json!(false))) {
            // Marks enter the hash only where they are used.
            values.remove("ecn");
        }
        json!([machine, congestion, chosen(acking)])
    });
    let mut all = chosen(traffic);
    for input in traffic.config.clone().inputs() {
        if let (Some(file), Some(text)) =
            (named.get(&(input.format, input.path.to_owned())), traffic.values.get(input.key).and_then(Value::as_str))
        {
            all[1][input.key] = json!(text.replace(input.path, &format!("{:016x}", file.hash)));
        }
    }
    json!([tcp, all])
}

/// The same data with the keys of every object in alphabetical order: the order of fields in a struct has no meaning.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
