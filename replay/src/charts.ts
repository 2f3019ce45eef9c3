// The charts beside the map: the window and round trip of a flow's sender, what the flow delivers, and a queue.

import uPlot from "uplot";
import { hex, QUIET, RUNS } from "./colours";
import type { Table } from "./format";
import type { Run } from "./run";

/** A line of a chart: times in seconds, and values. */
interface Line {
  name: string;
  times: number[];
  values: number[];
  colour: string;
  dash?: number[];
}

const HEIGHT = 96;
const DASH = [5, 4];

/** The rows of a table whose column has a value. */
function rowsOf(table: Table, column: string, value: number): number[] {
  const found: number[] = [];
  const values = table.columns[column];
  for (let row = 0; row < table.rows; row++) if (values[row] === value) found.push(row);
  return found;
}

/** The name of a run's line where two runs are shown. */
const named = (name: string, run: number, count: number): string => (count > 1 ? `${name} ${"AB"[run]}` : name);

class Chart {
  private plot: uPlot | null = null;
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;

  constructor(
    parent: HTMLElement,
    title: string,
    private readonly seek: (seconds: number) => void,
  ) {
    const box = document.createElement("section");
    box.className = "chart";
    this.head = document.createElement("h3");
    this.head.textContent = title;
    this.body = document.createElement("div");
    box.append(this.head, this.body);
    parent.append(box);
  }

  show(title: string, lines: Line[], end: number): void {
    this.head.textContent = title;
    this.plot?.destroy();
    this.plot = null;
    const full = lines.filter((line) => line.times.length > 0);
    this.body.classList.toggle("empty", full.length === 0);
    if (full.length === 0) {
      this.body.textContent = "nothing recorded";
      return;
    }
    this.body.textContent = "";
    const data = uPlot.join(full.map((line): uPlot.AlignedData => [line.times, line.values]));
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const series = full.map(
      ({ name, colour, dash }): uPlot.Series => ({
        label: name,
        stroke: colour,
        width: 1.4,
        spanGaps: true,
        points: { show: false },
        ...(dash ? { dash } : {}),
        ...(stepped ? { paths: stepped } : {}),
      }),
    );
    const axis = { font: "11px system-ui, sans-serif", stroke: "#4b5563", grid: { stroke: "#eceef1", width: 1 } };
    this.plot = new uPlot(
      {
        width: Math.max(200, this.body.clientWidth),
        height: HEIGHT,
        scales: { x: { time: false, range: [0, end] }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
        axes: [
          { ...axis, size: 22, ticks: { size: 4 }, values: (_, all) => all.map((second) => `${second} s`) },
          { ...axis, size: 42, ticks: { size: 4 } },
        ],
        series: [{}, ...series],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
        padding: [6, 20, 0, 0],
      },
      data,
      this.body,
    );
    const { over } = this.plot;
    const head = document.createElement("i");
    head.className = "playhead";
    over.append(head);
    over.addEventListener("click", (event) => {
      const left = event.clientX - over.getBoundingClientRect().left;
      if (this.plot) this.seek(this.plot.posToVal(left, "x"));
    });
    const key = document.createElement("span");
    key.className = "key";
    for (const { name, colour, dash } of full) {
      const word = document.createElement("span");
      word.textContent = name;
      word.style.setProperty("--line", colour);
      word.className = dash ? "dashed" : "";
      key.append(word);
    }
    this.head.append(key);
  }

  move(seconds: number): void {
    const head = this.plot?.over.lastElementChild;
    if (this.plot && head instanceof HTMLElement) head.style.left = `${this.plot.valToPos(seconds, "x")}px`;
  }
}

export class Charts {
  private readonly window: Chart;
  private readonly trip: Chart;
  private readonly goodput: Chart;
  private readonly queue: Chart;

  constructor(
    parent: HTMLElement,
    private readonly runs: Run[],
    seek: (seconds: number) => void,
  ) {
    this.window = new Chart(parent, "", seek);
    this.trip = new Chart(parent, "", seek);
    this.goodput = new Chart(parent, "", seek);
    this.queue = new Chart(parent, "", seek);
  }

  /** Shows a flow and the queues of a node. */
  show(flow: number | null, node: number | null): void {
    const { runs } = this;
    const end = Math.max(...runs.map((run) => run.duration)) / 1e6;
    const count = runs.length;
    const lines = (of: (run: Run, place: number) => Line[]) => runs.flatMap(of);
    const sender = (column: string, name: string, unit: number, dash?: number[]) => (run: Run, place: number) => {
      const rows = flow === null ? [] : rowsOf(run.senders, "flow", flow);
      const { time, [column]: values } = run.senders.columns;
      // A threshold that no loss has set yet would hide the window.
      const known = rows.filter((row) => values[row] > 0 && values[row] / unit < 60_000);
      return [
        {
          name: named(name, place, count),
          times: known.map((row) => time[row] / 1e6),
          values: known.map((row) => values[row] / unit),
          colour: hex(RUNS[place]),
          ...(dash ? { dash } : {}),
        },
      ];
    };
    const windows = [...lines(sender("cwnd", "cwnd", 1000)), ...lines(sender("ssthresh", "ssthresh", 1000, DASH))];
    if (count === 1 && windows.length > 1) windows[1].colour = hex(QUIET);
    this.window.show("Window, segments", windows, end);
    this.trip.show("Smoothed round trip, ms", lines(sender("srtt", "srtt", 1000)), end);
    this.goodput.show(
      "Arrives, kbit/s",
      lines((run, place) => (flow !== null && run.hasSeen(flow) ? [arrivals(run, flow, place, count)] : [])),
      end,
    );
    const own = node === null ? "Queue" : `Queue of node ${node}, packets`;
    this.queue.show(
      node === null ? "Longest queue, packets" : own,
      lines((run, place) => [waiting(run, node, place, count)]),
      end,
    );
  }

  move(time: number): void {
    for (const chart of [this.window, this.trip, this.goodput, this.queue]) chart.move(time / 1e6);
  }
}

/** The rate at which data of a flow arrive, in some hundred steps. */
function arrivals(run: Run, flow: number, place: number, count: number): Line {
  const steps = 120;
  const part = Math.max(1, Math.ceil(run.duration / 1000));
  const { part: parts, bytes } = run.arrived.columns;
  const sums = new Array<number>(steps).fill(0);
  for (const row of rowsOf(run.arrived, "flow", flow)) {
    sums[Math.min(steps - 1, Math.floor((parts[row] * part * steps) / run.duration))] += bytes[row];
  }
  const step = run.duration / steps / 1e6;
  return {
    name: named("rate", place, count),
    times: sums.map((_, at) => at * step),
    values: sums.map((sum) => (sum * 8) / 1000 / step),
    colour: hex(RUNS[place]),
  };
}

/** How many packets wait at a node, or at the node where most do. */
function waiting(run: Run, node: number | null, place: number, count: number): Line {
  const { interface: interfaces, time, packets } = run.queues.columns;
  const line = { name: named("waiting", place, count), times: [0], values: [0], colour: hex(RUNS[place]) };
  const rows = Array.from({ length: run.queues.rows }, (_, row) => row)
    .filter((row) => node === null || run.nodeOf[interfaces[row]] === node)
    .sort((one, other) => time[one] - time[other]);
  const lengths = new Map<number, number>();
  for (let at = 0; at < rows.length; at++) {
    lengths.set(interfaces[rows[at]], packets[rows[at]]);
    if (at + 1 < rows.length && time[rows[at + 1]] === time[rows[at]]) continue;
    const longest = Math.max(...lengths.values());
    if (longest !== line.values[line.values.length - 1]) {
      line.times.push(time[rows[at]] / 1e6);
      line.values.push(longest);
    }
  }
  line.times.push(run.duration / 1e6);
  line.values.push(line.values[line.values.length - 1]);
  return line;
}
