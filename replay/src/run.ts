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

  /** The range within which a radio's broadcasts are decoded; nothing if distance alone does not decide. */
  range(node: number): number | null {
    const radio = this.header.interfaces.find((it) => it.node === node && it.channel !== undefined);
    return radio?.channel === undefined ? null : (this.header.ranges[radio.channel] ?? null);
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
    const pad = Math.max(box.east - box.west, box.north - box.south, 1) * MARGIN;
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
