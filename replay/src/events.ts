// The events of a run: what they are called, when they happen, and where two runs first differ.

import type { Table } from "./format";
import type { Run } from "./run";
import { after, from } from "./search";

/** A class of frames, which decides how they are drawn. */
export type FrameClass = "data" | "ack" | "routing" | "control" | "other";

const CLASSES: Record<string, FrameClass> = { data: "data", external: "data", ack: "ack", routing: "routing" };

/** The class of a frame of this shape. */
export function classOf(run: Run, shape: number): FrameClass {
  const { kind, content } = run.header.shapes[shape];
  if (kind !== "data") return "control";
  // A message of a routing protocol has its own name, such as rreq.
  return CLASSES[content] ?? (content === "arp" || content === "icmp" ? "other" : "routing");
}

export type TableName = "frames" | "drops" | "paths" | "senders";

/** An event: a row of a table. */
export interface Event {
  table: TableName;
  row: number;
  time: number;
}

/** A kind of event that can be jumped to. */
export interface Kind {
  id: string;
  name: string;
  events: Event[];
}

const WORDS = (word: string): string => word.replaceAll("_", " ");

export const timeColumn = (table: TableName): string => (table === "frames" ? "begin" : "time");

function rows(table: Table, name: TableName, wanted: (row: number) => boolean): Event[] {
  const times = table.columns[timeColumn(name)];
  const found: Event[] = [];
  for (let row = 0; row < table.rows; row++) if (wanted(row)) found.push({ table: name, row, time: times[row] });
  return found;
}

/** Whether a frame reached nobody whom it was for. */
export function isLost(run: Run, row: number): boolean {
  const { receiver, decoded } = run.frames.columns;
  return receiver[row] > 0 && decoded[row] === 0;
}

/** The kinds of event of a run, each computed when it is first asked for. */
export class Events {
  private readonly made = new Map<string, Event[]>();

  constructor(readonly run: Run) {}

  /** Ids and names of the kinds that can be asked for; `flow` is the chosen flow. */
  kinds(flow: number | null): [string, string][] {
    const reasons = this.run.header.reasons.map((reason, number): [string, string] => [
      `drop ${number}`,
      `drop: ${WORDS(reason)}`,
    ]);
    const ofFlow: [string, string][] =
      flow === null
        ? []
        : [
            [`path ${flow}`, "new path of the flow"],
            [`timeout ${flow}`, "timeout of its sender"],
            [`recovery ${flow}`, "fast recovery of its sender"],
          ];
    return [
      ["any", "any event"],
      ["frame", "any frame"],
      ["data", "frame with data"],
      ["ack", "frame with a TCP ACK"],
      ["routing", "routing message"],
      ["lost", "frame not decoded"],
      ["retry", "frame sent again"],
      ["drop", "any drop"],
      ...(reasons.length > 1 ? reasons : []),
      ...ofFlow,
    ];
  }

  /** The events of a kind, in order of time. */
  of(id: string): Event[] {
    let found = this.made.get(id);
    if (found === undefined) {
      found = this.find(id);
      this.made.set(id, found);
    }
    return found;
  }

  /** The first event of a kind after a time, or the last one before it. */
  near(id: string, time: number, forward: boolean): Event | null {
    const events = this.of(id);
    const times = this.timesOf(id);
    return events[forward ? after(times, time) : from(times, time) - 1] ?? null;
  }

  /** The last events up to a time, the latest first. */
  until(time: number, count: number): Event[] {
    const events = this.of("any");
    const end = after(this.timesOf("any"), time);
    return events.slice(Math.max(0, end - count), end).reverse();
  }

  private readonly times = new Map<string, Float64Array>();

  private timesOf(id: string): Float64Array {
    let found = this.times.get(id);
    if (found === undefined) {
      found = Float64Array.from(this.of(id), (event) => event.time);
      this.times.set(id, found);
    }
    return found;
  }

  private find(id: string): Event[] {
    const { run } = this;
    const { frames, drops, paths, senders } = run;
    const [word, number] = id.split(" ");
    switch (word) {
      case "any":
        return [...this.of("frame"), ...this.of("drop"), ...rows(paths, "paths", () => true)].sort(
          (one, other) => one.time - other.time,
        );
      case "frame":
        return rows(frames, "frames", () => true);
      case "lost":
        return rows(frames, "frames", (row) => isLost(run, row));
      case "retry":
        return rows(frames, "frames", (row) => run.header.shapes[frames.columns.shape[row]].retry);
      case "drop":
        return rows(drops, "drops", (row) => number === undefined || drops.columns.reason[row] === Number(number));
      case "path":
        return rows(paths, "paths", (row) => paths.columns.flow[row] === Number(number));
      case "timeout":
      case "recovery": {
        const state = word === "timeout" ? 2 : 1;
        const columns = senders.columns;
        const begins = (row: number) =>
          columns.flow[row] === Number(number) &&
          columns.state[row] === state &&
          (row === 0 || columns.flow[row - 1] !== columns.flow[row] || columns.state[row - 1] !== state);
        return rows(senders, "senders", begins);
      }
      default:
        return rows(frames, "frames", (row) => classOf(run, frames.columns.shape[row]) === word);
    }
  }
}

/** A node as the receiver of a frame. */
function receiverOf(run: Run, row: number): string {
  const receiver = run.frames.columns.receiver[row];
  return receiver === 0 ? "all" : `${run.nodeOf[receiver - 1]}`;
}

/** The name of what a frame is or carries. */
export function frameName(run: Run, shape: number): string {
  const { kind, content, retry } = run.header.shapes[shape];
  const name = content === "ack" ? "TCP ACK" : content ? WORDS(content) : kind === "data" ? "data" : kind.toUpperCase();
  return retry ? `${name}, again` : name;
}

/** The sentence that tells of an event. */
export function tell(run: Run, { table, row }: Event): string {
  if (table === "frames") {
    const { shape, sender, receiver, flow, parts, decoded, damaged } = run.frames.columns;
    const ofFlow = flow[row] > 0 ? `, flow ${flow[row] - 1}` : "";
    const several = parts[row] > 1 ? ` × ${parts[row]}` : "";
    const heard = receiver[row] === 0 ? `decoded by ${decoded[row]}` : decoded[row] > 0 ? "decoded" : "not decoded";
    const hurt = damaged[row] > 0 ? `, damaged${receiver[row] === 0 ? ` at ${damaged[row]}` : ""}` : "";
    const way = `${run.nodeOf[sender[row]]} → ${receiverOf(run, row)}`;
    const airtime = `${run.header.shapes[shape[row]].airtime / 1e6} ms`;
    return `${frameName(run, shape[row])}${several} ${way}${ofFlow}: ${heard}${hurt}, ${airtime}`;
  }
  if (table === "drops") {
    const { node, reason, flow, content } = run.drops.columns;
    const ofFlow = flow[row] > 0 ? ` of flow ${flow[row] - 1}` : "";
    return `dropped at ${node[row]}: ${WORDS(run.header.contents[content[row]])}${ofFlow}, ${WORDS(run.header.reasons[reason[row]])}`;
  }
  if (table === "paths") {
    const { flow, path } = run.paths.columns;
    return `flow ${flow[row]} arrives by ${run.header.paths[path[row]].join(" → ")}`;
  }
  const { flow, state } = run.senders.columns;
  return `sender of flow ${flow[row]}: ${state[row] === 2 ? "timeout" : "fast recovery"}`;
}

/** Whether all nodes of two runs move in the same way. */
export function sameMovement(one: Run, other: Run): boolean {
  return (
    one.legs.rows === other.legs.rows &&
    Object.keys(one.legs.columns).every((name) =>
      one.legs.columns[name].every((value, row) => value === other.legs.columns[name][row]),
    )
  );
}

/** The first difference between two runs. */
export interface Difference {
  time: number;
  /** The events of each run at that time. */
  told: [string[], string[]];
}

/** The first time at which frames or drops of two runs are not the same. Slices that either has lost are left out. */
export function firstDifference(one: Run, other: Run): Difference | null {
  const names = ["frames", "drops"] as const;
  const found = names.map((name) => differenceIn(name, one, other)).filter((it) => it !== null);
  return found.sort((a, b) => a.time - b.time)[0] ?? null;
}

function differenceIn(name: "frames" | "drops", one: Run, other: Run): Difference | null {
  const level = Math.max(one[name].level, other[name].level);
  const [mine, theirs] = [groups(one, name, level), groups(other, name, level)];
  for (;;) {
    const [a, b] = [mine.next(), theirs.next()];
    if (a.done && b.done) return null;
    const [at, there] = [a.value?.time ?? Infinity, b.value?.time ?? Infinity];
    if (at !== there || a.value?.told.join() !== b.value?.told.join()) {
      const time = Math.min(at, there);
      return { time, told: [at === time ? (a.value?.told ?? []) : [], there === time ? (b.value?.told ?? []) : []] };
    }
  }
}

/** The events of a table, those of the same time together, in an order that does not depend on the run. */
function* groups(run: Run, name: "frames" | "drops", level: number): Generator<{ time: number; told: string[] }, void> {
  const table = run[name];
  const times = table.columns[timeColumn(name)];
  for (let row = 0; row < table.rows; ) {
    const time = times[row];
    const told: string[] = [];
    for (; row < table.rows && times[row] === time; row++) told.push(tell(run, { table: name, row, time }));
    if (Math.floor(time / run.header.slice) % 2 ** level === 0) yield { time, told: told.sort() };
  }
}
