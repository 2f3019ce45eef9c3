// A run: its nodes in motion, and the events of its network.

import { type Header, metres, type Recording, type Table } from "./format";
import { after } from "./search";

export interface Box {
  west: number;
  south: number;
  east: number;
  north: number;
}

/** Room around the outermost nodes, as a part of the whole. */
const MARGIN = 0.06;
/** Room around nodes that are all at one place, in metres. */
const ALONE = 50;

export class Run {
  readonly header: Header;
  readonly frames: Table;
  readonly drops: Table;
  readonly wires: Table;
  readonly paths: Table;
  readonly senders: Table;
  readonly arrived: Table;
  readonly queues: Table;
  readonly legs: Table;
  /** By node, the place of its first leg; the legs of a node follow one another. */
  private readonly firstLeg: Int32Array;
  /** Places of nodes without a radio, which are drawn below the map. */
  private readonly fixed = new Map<number, [number, number]>();
  /** The nodes of the interfaces. */
  readonly nodeOf: Int32Array;
  /** By node, the range of its first radio. */
  private readonly ranges: (number | null)[];
  /** By flow, the rows of its paths, as far as they were asked for. */
  private readonly pathsOf = new Map<number, { rows: number[]; times: Float64Array }>();
  readonly box: Box;

  constructor({ header, tables }: Recording) {
    this.header = header;
    this.frames = tables.frames;
    this.drops = tables.drops;
    this.wires = tables.wires;
    this.paths = tables.paths;
    this.senders = tables.senders;
    this.arrived = tables.arrived;
    this.queues = tables.queues;
    this.legs = tables.legs;
    this.nodeOf = Int32Array.from(header.interfaces, (it) => it.node);
    this.ranges = new Array(header.nodes).fill(null);
    for (const { node, channel } of [...header.interfaces].reverse()) {
      if (channel !== undefined) this.ranges[node] = header.ranges[channel] ?? null;
    }
    this.firstLeg = new Int32Array(header.nodes + 1).fill(-1);
    const { node } = this.legs.columns;
    for (let leg = this.legs.rows - 1; leg >= 0; leg--) this.firstLeg[node[leg]] = leg;
    this.firstLeg[header.nodes] = this.legs.rows;
    for (let at = header.nodes - 1; at >= 0; at--) {
      if (this.firstLeg[at] < 0) this.firstLeg[at] = this.firstLeg[at + 1];
    }
    this.box = this.bounds();
    this.placeOthers();
  }

  get nodes(): number {
    return this.header.nodes;
  }

  get duration(): number {
    return this.header.duration;
  }

  /** Whether a node has a radio, and so a place of its own. */
  isOnMap(node: number): boolean {
    return this.firstLeg[node] < this.firstLeg[node + 1];
  }

  /** The leg of a node at a time; -1 for a node without a place. */
  leg(node: number, time: number): number {
    const [first, end] = [this.firstLeg[node], this.firstLeg[node + 1]];
    return first === end ? -1 : Math.max(first, after(this.legs.columns.begin, time, first, end) - 1);
  }

  /** The line that a leg describes: places and times at its begin and its end. */
  line(leg: number): [number, number, number, number, number, number] {
    const { begin, end, x0, y0, x1, y1 } = this.legs.columns;
    return [metres(x0[leg]), metres(y0[leg]), metres(x1[leg]), metres(y1[leg]), begin[leg], end[leg]];
  }

  /** The place of a node at a time, in metres. */
  place(node: number, time: number): [number, number] {
    const leg = this.leg(node, time);
    if (leg < 0) return this.fixed.get(node) ?? [0, 0];
    const [x0, y0, x1, y1, begin, end] = this.line(leg);
    const part = end > begin ? Math.min(1, Math.max(0, (time - begin) / (end - begin))) : 1;
    return [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part];
  }

  /** The times from which on and before which a leg is the one of its node. */
  span(leg: number): [number, number] {
    const { node, begin } = this.legs.columns;
    const [isFirst, isLast] = [node[leg - 1] !== node[leg], node[leg + 1] !== node[leg]];
    return [isFirst ? -Infinity : begin[leg], isLast ? Infinity : begin[leg + 1]];
  }

  /** The path that the last data packet of a flow took before a time, from node to node. */
  path(flow: number, time: number): number[] {
    const { paths } = this;
    let own = this.pathsOf.get(flow);
    if (own === undefined) {
      const rows = Array.from({ length: paths.rows }, (_, row) => row).filter(
        (row) => paths.columns.flow[row] === flow,
      );
      own = { rows, times: Float64Array.from(rows, (row) => paths.columns.time[row]) };
      this.pathsOf.set(flow, own);
    }
    const last = after(own.times, time) - 1;
    return last < 0 ? [] : this.header.paths[paths.columns.path[own.rows[last]]];
  }

  /** The range within which a radio's broadcasts are decoded; nothing if distance alone does not decide. */
  range(node: number): number | null {
    return this.ranges[node];
  }

  /** The nodes at the ends of a flow; none if this run has no such flow. */
  ends(flow: number | null): number[] {
    const found = flow === null ? undefined : this.header.flows[flow];
    return found === undefined ? [] : [found.from, found.to];
  }

  /** Whether the recording has seen a packet of a flow: kernels and programs send what it cannot see. */
  hasSeen(flow: number): boolean {
    const { frames, wires, arrived } = this;
    const isOf = (table: Table, value: number) => table.columns.flow.includes(value);
    return isOf(arrived, flow) || isOf(frames, flow + 1) || isOf(wires, flow + 1);
  }

  /** The name of a flow. */
  flowName(flow: number): string {
    const { from, to, label } = this.header.flows[flow];
    return `flow ${flow}: ${from} → ${to}${label ? ` (${label})` : ""}`;
  }

  /** The flow that delivers most; nothing if there is no flow. */
  busiestFlow(): number | null {
    const sums = this.header.flows.map(() => 0);
    const { flow, bytes } = this.arrived.columns;
    for (let row = 0; row < this.arrived.rows; row++) sums[flow[row]] += bytes[row];
    return sums.length > 0 ? sums.indexOf(Math.max(...sums)) : null;
  }

  private bounds(): Box {
    const box = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };
    const widen = (x: number, y: number) => {
      box.west = Math.min(box.west, x);
      box.east = Math.max(box.east, x);
      box.south = Math.min(box.south, y);
      box.north = Math.max(box.north, y);
    };
    for (let leg = 0; leg < this.legs.rows; leg++) {
      const [x0, y0, x1, y1] = this.line(leg);
      widen(x0, y0);
      widen(x1, y1);
    }
    for (const { low, high } of this.header.obstacles) {
      // An obstacle may reach as far as the eye.
      if (Math.abs(high[0] - low[0]) < 1e5 && Math.abs(high[1] - low[1]) < 1e5) {
        widen(...low);
        widen(...high);
      }
    }
    if (box.west > box.east) return { west: 0, south: 0, east: 100, north: 100 };
    const extent = Math.max(box.east - box.west, box.north - box.south);
    const pad = extent > 0 ? extent * MARGIN : ALONE;
    return { west: box.west - pad, south: box.south - pad, east: box.east + pad, north: box.north + pad };
  }

  /** Gives nodes without a radio places in a row below the map. */
  private placeOthers(): void {
    const others = Array.from({ length: this.nodes }, (_, node) => node).filter((node) => !this.isOnMap(node));
    const { west, east } = this.box;
    if (others.length === 0) return;
    const below = this.box.south - (east - west) * MARGIN;
    others.forEach((node, place) => {
      this.fixed.set(node, [west + ((place + 0.5) / others.length) * (east - west), below]);
    });
    this.box.south = below - (east - west) * MARGIN;
  }
}
