// The map of one run at a time: WebGL below, words and marks above.

import type { Camera } from "./camera";
import { type Colour, DROP, FRAMES, hex, INK, QUIET, RANGE, ROUTE, WIRE } from "./colours";
import { classOf, type FrameClass, isLost } from "./events";
import { disc, Layers, line, ring } from "./layers";
import type { Run } from "./run";
import { after, from } from "./search";

/** The choices that decide what a map shows. */
export interface Shown {
  /** Microseconds. */
  time: number;
  /** How long an event stays in view, in microseconds. */
  linger: number;
  flow: number | null;
  node: number | null;
  ranges: boolean;
  classes: Set<FrameClass>;
}

/** So many frames at a time are drawn; more would not be told apart. */
const MOST_FRAMES = 3000;
/** And so many circles, which cost more. */
const MOST_CIRCLES = 400;
/** So many nodes in view have their numbers. */
const MOST_NAMES = 220;
/** So many drops in view have their reasons. */
const MOST_REASONS = 8;

export class NodeMap {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly words: HTMLCanvasElement;
  private readonly layers: Layers;
  private readonly pen: CanvasRenderingContext2D;
  /** By node, the time from which on, and before which, the leg that is drawn is the right one. */
  private readonly since: Float64Array;
  private readonly until: Float64Array;
  private look = "";
  width = 1;
  height = 1;

  constructor(
    readonly run: Run,
    private readonly camera: Camera,
    title: string,
  ) {
    this.element = document.createElement("figure");
    this.element.className = "map";
    this.canvas = document.createElement("canvas");
    this.words = document.createElement("canvas");
    this.words.setAttribute("role", "img");
    this.words.setAttribute("aria-label", `Map of ${title}`);
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    this.element.append(this.canvas, this.words, caption);
    const gl = this.canvas.getContext("webgl2", {
      alpha: false,
      antialias: false,
      // A page that is printed shows the picture that was drawn last.
      preserveDrawingBuffer: true,
    });
    const pen = this.words.getContext("2d");
    if (gl === null || pen === null) throw new Error("expected a browser with WebGL 2; it may be switched off here");
    this.layers = new Layers(gl);
    this.pen = pen;
    this.since = new Float64Array(run.nodes).fill(Infinity);
    this.until = new Float64Array(run.nodes);
  }

  /** Takes the size that the page gives it. */
  resize(): void {
    const { width, height } = this.element.getBoundingClientRect();
    [this.width, this.height] = [Math.max(1, width), Math.max(1, height)];
    for (const canvas of [this.canvas, this.words]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
  }

  private get ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  /** The node at a point of the map, in pixels from its upper left corner. */
  nodeAt(left: number, top: number, time: number): number | null {
    let [nearest, best] = [-1, Math.max(14, this.radius() + 6)];
    for (let node = 0; node < this.run.nodes; node++) {
      const [x, y] = this.toScreen(this.run.place(node, time));
      const away = Math.hypot(x - left, y - top);
      if (away < best) [nearest, best] = [node, away];
    }
    return nearest < 0 ? null : nearest;
  }

  draw(shown: Shown): void {
    this.drawNodes(shown);
    const { grounds, rings, lines, crosses, marks } = this.layers;
    for (const layer of [grounds, rings, lines, crosses, marks]) layer.clear();
    this.drawGround(shown);
    this.drawRoute(shown);
    this.drawFrames(shown);
    const drops = this.drawDrops(shown);
    this.layers.draw(this.camera, this.width, this.height, shown.time / 1e6);
    this.write(shown, drops);
  }

  private toScreen([x, y]: [number, number]): [number, number] {
    const { camera } = this;
    return [this.width / 2 + (x - camera.x) * camera.scale, this.height / 2 - (y - camera.y) * camera.scale];
  }

  /** The radius of a node in pixels. */
  private radius(): number {
    const many = this.run.nodes;
    if (many > 2000) return 2.5;
    if (many > MOST_NAMES) return 4;
    return this.width < 480 ? 8 : 10;
  }

  /** Gives the nodes whose legs have changed to the graphics processor, which moves them. */
  private drawNodes({ time, flow, node: chosen }: Shown): void {
    const { run } = this;
    const discs = this.layers.discs;
    // Of two runs, one may have flows that the other lacks.
    const ends = run.ends(flow);
    const jamming = run.header.jammers.filter((it) => this.radiates(it.node, time)).map((it) => it.node);
    const look = `${this.radius()} ${ends} ${chosen} ${jamming}`;
    const anew = look !== this.look;
    this.look = look;
    const jammers = new Set(run.header.jammers.map((it) => it.node));
    discs.count = run.nodes;
    for (let node = 0; node < run.nodes; node++) {
      if (time >= this.since[node] && time < this.until[node] && !anew) continue;
      const leg = run.leg(node, time);
      [this.since[node], this.until[node]] = leg < 0 ? [-Infinity, Infinity] : run.span(leg);
      const place = leg < 0 ? run.place(node, time) : null;
      const [x0, y0, x1, y1, begin, end] = place ? [...place, ...place, 0, 1] : run.line(leg);
      let colour = INK;
      if (jammers.has(node)) colour = jamming.includes(node) ? DROP : QUIET;
      else if (leg < 0) colour = WIRE;
      else if (ends.includes(node)) colour = ROUTE;
      const radius = this.radius() * (ends.includes(node) || node === chosen ? 1.25 : 1);
      discs.set(node, disc([x0, y0], [x1, y1], [begin / 1e6, end / 1e6], colour, radius));
    }
  }

  private radiates(node: number, time: number): boolean {
    return this.run.header.jammers.some(
      (it) => it.node === node && time >= it.from && time < it.until && (time - it.from) % (it.period || 1) < it.on,
    );
  }

  private drawGround({ time, ranges, node }: Shown): void {
    const { grounds, rings } = this.layers;
    const { run } = this;
    for (const { low, high } of run.header.obstacles) {
      const [west, south, east, north] = [...low, ...high];
      const middle = (south + north) / 2;
      const width = Math.max(2, (north - south) * this.camera.scale);
      grounds.push(line([west, middle], [east, middle], QUIET, 0.45, width));
    }
    for (const { node: end, wire } of run.header.interfaces) {
      if (wire !== undefined && end < wire) {
        grounds.push(line(run.place(end, time), run.place(wire, time), WIRE, 0.7, 1.5));
      }
    }
    const drawRange = (it: number, alpha: number, width: number) => {
      const range = run.range(it);
      if (range !== null && run.isOnMap(it)) rings.push(ring(run.place(it, time), range, RANGE, alpha, width));
    };
    if (ranges && run.nodes <= 500) for (let it = 0; it < run.nodes; it++) drawRange(it, 0.5, 1);
    if (node !== null) drawRange(node, 1, 2);
    for (const { node: jammer } of run.header.jammers) {
      if (this.radiates(jammer, time)) rings.push(ring(run.place(jammer, time), this.reach(jammer), DROP, 0.5, 2));
    }
  }

  /** The path that the last data packet of the chosen flow took before now, from node to node. */
  route({ time, flow }: Shown): number[] {
    return flow === null ? [] : this.run.path(flow, time);
  }

  private drawRoute(shown: Shown): void {
    const nodes = this.route(shown);
    for (let hop = 1; hop < nodes.length; hop++) {
      const [one, two] = [this.run.place(nodes[hop - 1], shown.time), this.run.place(nodes[hop], shown.time)];
      this.layers.lines.push(line(one, two, ROUTE, 0.4, 8));
    }
  }

  /** How far a frame for all is drawn around its sender. */
  private reach(node: number): number {
    const { east, west } = this.run.box;
    return this.run.range(node) ?? (east - west) / 8;
  }

  private drawFrames({ time, linger, classes }: Shown): void {
    const { run } = this;
    const { lines, rings, marks } = this.layers;
    const { begin, shape, sender, receiver } = run.frames.columns;
    if (run.frames.rows === 0) return;
    const end = after(begin, time);
    // A frame of 802.11 takes at most some 20 ms.
    const start = Math.max(from(begin, time - Math.max(linger, 20_000)), end - MOST_FRAMES);
    let firstCircle = end;
    for (let left = MOST_CIRCLES; firstCircle > start && left > 0; ) if (receiver[--firstCircle] === 0) left--;
    for (let row = start; row < end; row++) {
      if (receiver[row] === 0 && row < firstCircle) continue;
      const airtime = run.header.shapes[shape[row]].airtime / 1000;
      const life = Math.max(airtime, linger);
      const age = time - begin[row];
      if (age > life) continue;
      const kind = classOf(run, shape[row]);
      if (!classes.has(kind)) continue;
      const node = run.nodeOf[sender[row]];
      const place = run.place(node, begin[row]);
      const onAir = age <= airtime;
      const alpha = onAir ? 1 : Math.max(0.05, 1 - age / life);
      const colour = FRAMES[kind];
      if (receiver[row] === 0) {
        const part = Math.min(1, age / life);
        rings.push(ring(place, this.reach(node) * Math.max(0.08, part), colour, alpha, 2));
        continue;
      }
      const far = run.place(run.nodeOf[receiver[row] - 1], begin[row]);
      const width = kind === "control" ? 1.5 : kind === "data" ? 4 : 2.5;
      const lost = isLost(run, row);
      // While it is on the air, the line grows.
      const part = onAir ? Math.min(1, age / Math.max(airtime, 1)) : 1;
      const head: [number, number] = [place[0] + (far[0] - place[0]) * part, place[1] + (far[1] - place[1]) * part];
      lines.push(line(place, head, colour, lost ? alpha * 0.75 : alpha, width, lost ? 9 : 0));
      if (kind !== "control" && !lost) marks.push(ring(head, 2 / this.camera.scale, colour, alpha, 3));
    }
    this.drawWires(time, linger);
  }

  private drawWires(time: number, linger: number): void {
    const { run } = this;
    const { time: entered, interface: interfaces } = run.wires.columns;
    const end = after(entered, time);
    for (let row = Math.max(from(entered, time - linger), end - MOST_FRAMES); row < end; row++) {
      const { node, wire } = run.header.interfaces[interfaces[row]];
      if (wire === undefined) continue;
      const part = (time - entered[row]) / Math.max(linger, 1);
      const [one, two] = [run.place(node, time), run.place(wire, time)];
      const at: [number, number] = [one[0] + (two[0] - one[0]) * part, one[1] + (two[1] - one[1]) * part];
      this.layers.marks.push(ring(at, 2 / this.camera.scale, FRAMES.data, 1 - part, 3));
    }
  }

  /** Marks drops with crosses; returns the rows in view, the latest first. */
  private drawDrops({ time, linger }: Shown): number[] {
    const { run } = this;
    const { time: times, node } = run.drops.columns;
    const life = Math.max(4 * linger, 10_000);
    const end = after(times, time);
    const found: number[] = [];
    for (let row = end - 1; row >= Math.max(from(times, time - life), end - MOST_FRAMES); row--) {
      const alpha = Math.max(0.1, 1 - (time - times[row]) / life);
      const [x, y] = run.place(node[row], time);
      const size = (this.radius() + 4) / this.camera.scale;
      for (const turn of [-1, 1]) {
        const [one, two]: [number, number][] = [
          [x - size, y - size * turn],
          [x + size, y + size * turn],
        ];
        this.layers.crosses.push(line(one, two, [1, 1, 1], alpha, 7));
        this.layers.crosses.push(line(one, two, DROP, alpha, 3.5));
      }
      found.push(row);
    }
    return found;
  }

  /** Writes numbers of nodes, reasons of drops, directions of the route, and the scale. */
  private write(shown: Shown, drops: number[]): void {
    const { pen, run } = this;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    this.writeArrows(shown);
    this.writeNames(shown);
    this.writeReasons(shown, drops);
    this.writeScale();
    if (run.nodes > MOST_NAMES) {
      // Among many nodes without numbers, those that are looked at have theirs.
      const chosen = shown.node !== null && shown.node < run.nodes ? [shown.node] : [];
      for (const node of new Set([...run.ends(shown.flow), ...chosen])) {
        const [x, y] = this.toScreen(run.place(node, shown.time));
        this.label([x, y - 14], `node ${node}`, INK);
      }
    }
  }

  private writeNames({ time }: Shown): void {
    const { pen, run } = this;
    const seen: [number, number, number][] = [];
    for (let node = 0; node < run.nodes && seen.length <= MOST_NAMES; node++) {
      const [x, y] = this.toScreen(run.place(node, time));
      if (x > -20 && y > -20 && x < this.width + 20 && y < this.height + 20) seen.push([node, x, y]);
    }
    if (seen.length > MOST_NAMES) return;
    const inside = this.radius() >= 8;
    pen.font = `600 ${inside ? Math.round(this.radius()) : 11}px system-ui, sans-serif`;
    for (const [node, x, y] of seen) {
      if (inside) {
        pen.fillStyle = "white";
        pen.fillText(`${node}`, x, y + 0.5);
      } else this.label([x, y - 10], `${node}`, INK);
    }
  }

  private writeArrows(shown: Shown): void {
    const { pen, run } = this;
    const nodes = this.route(shown);
    pen.fillStyle = hex(ROUTE);
    for (let hop = 1; hop < nodes.length; hop++) {
      const [x0, y0] = this.toScreen(run.place(nodes[hop - 1], shown.time));
      const [x1, y1] = this.toScreen(run.place(nodes[hop], shown.time));
      const turn = Math.atan2(y1 - y0, x1 - x0);
      pen.save();
      pen.translate((x0 + x1) / 2, (y0 + y1) / 2);
      pen.rotate(turn);
      pen.beginPath();
      pen.moveTo(8, 0);
      pen.lineTo(-6, -6.5);
      pen.lineTo(-6, 6.5);
      pen.fill();
      pen.restore();
    }
  }

  private writeReasons({ time }: Shown, drops: number[]): void {
    const { run } = this;
    const { node, reason } = run.drops.columns;
    // Drops of one node for one reason share a label.
    const told = new Map<string, { node: number; reason: string; count: number }>();
    for (const row of drops) {
      const name = run.header.reasons[reason[row]].replaceAll("_", " ");
      const key = `${node[row]} ${name}`;
      const there = told.get(key) ?? { node: node[row], reason: name, count: 0 };
      there.count += 1;
      told.set(key, there);
    }
    const stacked = new Map<number, number>();
    for (const it of [...told.values()].slice(0, MOST_REASONS)) {
      const place = stacked.get(it.node) ?? 0;
      stacked.set(it.node, place + 1);
      const [x, y] = this.toScreen(run.place(it.node, time));
      const text = it.count > 1 ? `${it.reason} × ${it.count}` : it.reason;
      this.label([x, y - this.radius() - 15 - 17 * place], text, DROP);
    }
  }

  private label([x, y]: [number, number], text: string, colour: Colour): void {
    const { pen } = this;
    pen.font = "600 11.5px system-ui, sans-serif";
    const half = pen.measureText(text).width / 2 + 5;
    const left = Math.min(Math.max(x, half + 2), this.width - half - 2);
    const top = Math.min(Math.max(y, 10), this.height - 10);
    pen.fillStyle = "rgb(255 255 255 / 0.88)";
    pen.beginPath();
    pen.roundRect(left - half, top - 8, 2 * half, 16, 4);
    pen.fill();
    pen.fillStyle = hex(colour);
    pen.fillText(text, left, top + 0.5);
  }

  private writeScale(): void {
    const { pen, camera } = this;
    const wanted = 120 / camera.scale;
    const ten = 10 ** Math.floor(Math.log10(wanted));
    const metres = ten * (wanted / ten >= 5 ? 5 : wanted / ten >= 2 ? 2 : 1);
    const [left, top, width] = [14, this.height - 14, metres * camera.scale];
    pen.fillStyle = "rgb(255 255 255 / 0.8)";
    pen.fillRect(left - 6, top - 22, width + 12, 29);
    pen.strokeStyle = hex(INK);
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(left, top - 6);
    pen.lineTo(left, top);
    pen.lineTo(left + width, top);
    pen.lineTo(left + width, top - 6);
    pen.stroke();
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = hex(INK);
    pen.fillText(metres >= 1000 ? `${metres / 1000} km` : `${metres} m`, left + width / 2, top - 12);
  }
}
