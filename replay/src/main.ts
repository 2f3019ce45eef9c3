// The page: reads the recordings that stand in it, and lets them be played.

import { Camera } from "./camera";
import { Charts } from "./charts";
import { DROP, FRAME_NAMES, FRAMES, hex } from "./colours";
import { Events, type FrameClass, firstDifference, sameMovement, tell } from "./events";
import { bytesOf, read } from "./format";
import { NodeMap, type Shown } from "./map";
import { type Box, Run } from "./run";
import { Timeline } from "./timeline";

const SPEEDS = [0.0001, 0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100];
/** An event stays in view for so many seconds of the viewer. */
const AFTERGLOW = 0.35;
/** Up to this width in pixels, the page has one column; the style says so too. */
const NARROW = 820;
/** Events that are told. */
const TOLD = 6;

const element = <T extends HTMLElement>(id: string): T => {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page lacks #${id}`);
  return found as T;
};

const seconds = (time: number, places = 6): string => (time / 1e6).toFixed(places);

/** What two runs differ in, or what a run is called. */
function titles(runs: Run[]): string[] {
  const settings = runs.map((run) => new Map(run.header.origin.settings));
  const keys = [...new Set(settings.flatMap((it) => [...it.keys()]))];
  const differ = keys.filter((key) => runs.length === 1 || settings.some((it) => it.get(key) !== settings[0].get(key)));
  return runs.map((run, place) => {
    const words = differ.map((key) => `${key} = ${settings[place].get(key) ?? "(default)"}`);
    const letter = runs.length > 1 ? `${"AB"[place]}: ` : "";
    const { scenario, run: number, seed } = run.header.origin;
    return `${letter}${words.join(", ") || `${scenario}, run ${number}, seed ${seed}`}`;
  });
}

class Player {
  private readonly runs: Run[];
  private readonly maps: NodeMap[];
  private readonly events: Events[];
  private readonly camera = new Camera();
  private readonly charts: Charts;
  private readonly timeline: Timeline;
  private readonly end: number;
  private readonly difference: number | null;
  private readonly classes = new Set(Object.keys(FRAMES) as FrameClass[]);
  private time = 0;
  private playing = false;
  private speed = 1;
  private flow: number | null;
  private node: number | null = null;
  private dirty = true;
  private last = 0;
  private told = -1;
  /** Frames of the page that were drawn. */
  private drawn = 0;

  constructor(runs: Run[]) {
    this.runs = runs;
    this.end = Math.max(...runs.map((run) => run.duration));
    this.flow = runs.map((run) => run.busiestFlow()).find((flow) => flow !== null) ?? null;
    this.events = runs.map((run) => new Events(run));
    const names = titles(runs);
    this.maps = runs.map((run, place) => new NodeMap(run, this.camera, names[place]));
    element("maps").append(...this.maps.map((map) => map.element));
    this.charts = new Charts(element("charts"), runs, (at) => this.seek(at * 1e6));
    this.timeline = new Timeline(element("timeline"), runs, this.end, (time) => this.seek(time));
    this.difference = this.compare();
    this.describe();
    this.choices();
    this.buttons();
    this.keys();
    for (const map of this.maps) this.pointers(map);
    new ResizeObserver(() => this.resize()).observe(document.body);
    this.resize();
    this.goToHash();
    window.addEventListener("hashchange", () => this.goToHash());
    requestAnimationFrame((now) => this.tick(now));
  }

  /** Shows another time, within the run. */
  seek(time: number): void {
    this.time = Math.min(this.end, Math.max(0, time));
    document.body.dataset.time = String(this.time);
    this.dirty = true;
  }

  /** Goes to the next event of a kind, or to the one before. */
  private jump(kind: string, forward: boolean): void {
    const found = this.events.map((it) => it.near(kind, this.time, forward)).filter((it) => it !== null);
    if (found.length === 0) return;
    this.pause();
    const times = found.map((it) => it.time);
    this.seek(forward ? Math.min(...times) : Math.max(...times));
  }

  private get kind(): string {
    return element<HTMLSelectElement>("kind").value;
  }

  private pause(): void {
    if (this.playing) this.toggle();
  }

  private toggle(): void {
    this.playing = !this.playing;
    if (this.playing && this.time >= this.end) this.seek(0);
    const button = element("play");
    button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.dirty = true;
  }

  private faster(steps: number): void {
    const select = element<HTMLSelectElement>("speed");
    const place = Math.min(SPEEDS.length - 1, Math.max(0, select.selectedIndex + steps));
    select.selectedIndex = place;
    this.speed = SPEEDS[place];
    this.dirty = true;
  }

  private tick(now: number): void {
    const passed = this.last ? Math.min(0.25, (now - this.last) / 1000) : 0;
    this.last = now;
    if (this.playing) {
      this.seek(this.time + passed * this.speed * 1e6);
      if (this.time >= this.end) this.toggle();
    }
    if (this.dirty) this.draw(now);
    requestAnimationFrame((next) => this.tick(next));
  }

  private draw(now: number): void {
    this.dirty = false;
    const shown: Shown = {
      time: this.time,
      linger: AFTERGLOW * this.speed * 1e6,
      flow: this.flow,
      node: this.node,
      ranges: element<HTMLInputElement>("ranges").checked,
      classes: this.classes,
    };
    for (const map of this.maps) map.draw(shown);
    this.timeline.draw(this.time);
    this.charts.move(this.time);
    element("clock").innerHTML = `${seconds(this.time)} <small>/ ${Number((this.end / 1e6).toFixed(3))} s</small>`;
    const line = element("timeline");
    line.setAttribute("aria-valuenow", seconds(this.time));
    line.setAttribute("aria-valuetext", `${seconds(this.time)} s`);
    this.drawn += 1;
    document.body.dataset.drawn = String(this.drawn);
    document.body.dataset.route = this.maps.map((map) => map.route(shown).join(" ")).join(";");
    // A list that changes sixty times a second cannot be read.
    if (!this.playing || now - this.told > 150) {
      this.told = now;
      this.list();
    }
  }

  /** Tells of the events up to now. */
  private list(): void {
    const found = this.events.flatMap((events, place) =>
      events.until(this.time, TOLD).map((event) => ({ event, place, run: this.runs[place] })),
    );
    found.sort((one, other) => other.event.time - one.event.time);
    const items = found.slice(0, TOLD).map(({ event, place, run }) => {
      const button = document.createElement("button");
      button.type = "button";
      const time = document.createElement("time");
      time.textContent = seconds(event.time);
      const words = document.createElement("span");
      words.textContent = `${this.runs.length > 1 ? `${"AB"[place]}: ` : ""}${tell(run, event)}`;
      button.append(time, words);
      button.className = `${event.time === this.time ? "now" : ""} ${event.table === "drops" ? "drop" : ""}`;
      button.addEventListener("click", () => {
        this.pause();
        this.seek(event.time);
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    });
    if (items.length === 0) {
      const item = document.createElement("li");
      item.textContent = "no frame, drop or new path is recorded up to this time";
      items.push(item);
    }
    const list = element("events");
    const held = list.contains(document.activeElement) ? document.activeElement?.textContent : null;
    list.replaceChildren(...items);
    if (held === null) return;
    // Who goes through the list by keyboard stays in it.
    const buttons = [...list.querySelectorAll("button")];
    (buttons.find((it) => it.textContent === held) ?? buttons[0])?.focus();
  }

  /** Writes who ran what, and what of it is shown. */
  private describe(): void {
    const { origin } = this.runs[0].header;
    document.title = `${origin.scenario}: replay`;
    element("title").textContent = origin.scenario;
    const settings = origin.settings.map(([key, value]) => `${key} = ${value}`).join(", ");
    const one = this.runs.length === 1 && settings ? `, ${settings}` : "";
    element("about").textContent =
      `run ${origin.run}, seed ${origin.seed}${one} · configuration ${origin.config} · Hopyard ${origin.version}`;
    const notes = element("notes");
    const note = (text: string) => {
      const words = document.createElement("p");
      words.textContent = text;
      notes.append(words);
    };
    this.runs.forEach((run, place) => {
      const which = this.runs.length > 1 ? `${"AB"[place]}: ` : "";
      for (const name of ["frames", "drops", "wires", "paths"] as const) {
        const { level, rows, seen } = run[name];
        if (rows === seen) continue;
        const slice = `slice of ${seconds(run.header.slice, 3)} s`;
        const kept = level === 0 ? `each ${slice}` : `one ${slice} in ${2 ** level}`;
        const others = level === 0 ? "" : ", and none of the others";
        note(`${which}thinned: ${rows} of ${seen} ${name}: ${kept}, as far as there is room${others}`);
      }
    });
    if (this.runs.length === 2) {
      const [one, other] = this.runs;
      if (!sameMovement(one, other)) note("The nodes of the two runs do not move in the same way.");
      if (this.difference === null) note(this.sameness());
    }
  }

  /** What is known of two runs in which no difference was found. */
  private sameness(): string {
    const tables = this.runs.flatMap((run) => [run.frames, run.drops]);
    if (tables.every((table) => table.seen === 0)) return "Neither recording has a frame or a drop.";
    const thinned = tables.some((table) => table.rows < table.seen);
    return `The two runs have the same frames and drops${thinned ? ", as far as both are recorded" : ""}.`;
  }

  /** Finds the first difference of two runs, and offers to go there. */
  private compare(): number | null {
    if (this.runs.length < 2) return null;
    const found = firstDifference(this.runs[0], this.runs[1]);
    if (found === null) return null;
    const button = element("difference");
    button.hidden = false;
    button.addEventListener("click", () => this.goToDifference());
    document.body.dataset.difference = String(found.time);
    const notes = element("notes");
    const words = document.createElement("p");
    const told = found.told.map((lines, place) => `${"AB"[place]}: ${lines.join("; ") || "no frame or drop then"}`);
    words.textContent = `First difference at ${seconds(found.time)} s. ${told.join(" — ")}`;
    notes.append(words);
    return found.time;
  }

  private goToDifference(): void {
    if (this.difference === null) return;
    this.pause();
    this.seek(this.difference);
  }

  /** How many flows there are to choose from. */
  private get flows(): number {
    return Math.max(...this.runs.map((run) => run.header.flows.length));
  }

  private get nodes(): number {
    return Math.max(...this.runs.map((run) => run.nodes));
  }

  /** The name of a flow; two names where a flow of this number is another one in each run. */
  private flowName(flow: number): string {
    const there = this.runs.filter((run) => flow < run.header.flows.length);
    return [...new Set(there.map((run) => run.flowName(flow)))].join(" | ");
  }

  private option(value: string, name: string): HTMLOptionElement {
    return new Option(name, value);
  }

  private choices(): void {
    const flow = element<HTMLSelectElement>("flow");
    flow.append(...Array.from({ length: this.flows }, (_, number) => this.option(`${number}`, this.flowName(number))));
    flow.append(this.option("", "none"));
    flow.value = this.flow === null ? "" : `${this.flow}`;
    flow.addEventListener("change", () => {
      this.flow = flow.value === "" ? null : Number(flow.value);
      this.chosen();
    });
    const node = element<HTMLSelectElement>("node");
    node.append(this.option("", "none"));
    // A list of thousands is of no use; a click on the map chooses too.
    const listed = Math.min(this.nodes, 2000);
    node.append(...Array.from({ length: listed }, (_, number) => this.option(`${number}`, `${number}`)));
    node.addEventListener("change", () => {
      this.node = node.value === "" ? null : Number(node.value);
      this.chosen();
    });
    const speed = element<HTMLSelectElement>("speed");
    speed.append(
      ...SPEEDS.map((it) => this.option(`${it}`, it >= 1 ? `${it} ×` : it >= 0.1 ? `${it} ×` : `1/${1 / it} ×`)),
    );
    speed.value = "1";
    speed.addEventListener("change", () => this.faster(0));
    element("ranges").addEventListener("change", () => {
      this.dirty = true;
    });
    this.legend();
    this.listKinds();
  }

  private listKinds(): void {
    const select = element<HTMLSelectElement>("kind");
    const before = select.value || "drop";
    const there = (id: string) => id === "any" || this.events.some((events) => events.of(id).length > 0);
    const kinds = new Map(this.events.flatMap((events) => events.kinds(this.flow)));
    const options = [...kinds].filter(([id]) => there(id)).map(([id, name]) => this.option(id, name));
    select.replaceChildren(...options);
    select.value = before;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  }

  private legend(): void {
    const items = (Object.keys(FRAMES) as FrameClass[]).map((kind) => {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", () => {
        if (box.checked) this.classes.add(kind);
        else this.classes.delete(kind);
        this.dirty = true;
      });
      const sample = document.createElement("i");
      sample.style.setProperty("--colour", hex(FRAMES[kind]));
      sample.style.setProperty("--wide", kind === "control" ? "1.5px" : kind === "data" ? "4px" : "2.5px");
      label.append(box, sample, FRAME_NAMES[kind]);
      return label;
    });
    const other = (name: string, form: string, colour: string, wide: string) => {
      const span = document.createElement("span");
      const sample = document.createElement("i");
      sample.style.setProperty("--colour", colour);
      sample.style.setProperty("--wide", wide);
      if (form === "cross") {
        sample.className = "cross";
        sample.textContent = "✕";
      } else sample.style.setProperty("--form", form);
      span.append(sample, name);
      return span;
    };
    const lost = other("not decoded", "dashed", hex(FRAMES.data), "3px");
    element("legend").append(
      ...items,
      lost,
      other("drop", "cross", hex(DROP), "0"),
      other("path of the flow", "solid", "rgb(0 158 115 / 0.45)", "7px"),
    );
  }

  /** Another flow or node is chosen. */
  private chosen(): void {
    element<HTMLSelectElement>("node").value = this.node === null ? "" : `${this.node}`;
    this.charts.show(this.flow, this.node);
    this.timeline.prepare(this.flow, this.difference);
    this.listKinds();
    this.dirty = true;
  }

  private buttons(): void {
    const on = (id: string, act: () => void) => element(id).addEventListener("click", act);
    on("play", () => this.toggle());
    on("home", () => this.seek(0));
    on("back", () => this.jump("any", false));
    on("step", () => this.jump("any", true));
    on("previous", () => this.jump(this.kind, false));
    on("next", () => this.jump(this.kind, true));
    on("fit", () => this.fit());
  }

  private keys(): void {
    const acts: Record<string, (shift: boolean) => void> = {
      " ": () => this.toggle(),
      ArrowRight: (shift) => (shift ? this.seek(this.time + this.end / 100) : this.jump("any", true)),
      ArrowLeft: (shift) => (shift ? this.seek(this.time - this.end / 100) : this.jump("any", false)),
      Home: () => this.seek(0),
      End: () => this.seek(this.end),
      n: () => this.jump(this.kind, true),
      p: () => this.jump(this.kind, false),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      r: () => element("ranges").click(),
      f: () => this.fit(),
      d: () => this.goToDifference(),
    };
    window.addEventListener("keydown", (event) => {
      const { target } = event;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      // Space is for the control that the keyboard has reached; after a click on a button it plays.
      const taken =
        target instanceof HTMLSelectElement ||
        (key === " " && target instanceof Element && target.matches("button:focus-visible, input, summary"));
      if (taken || event.ctrlKey || event.metaKey || event.altKey || acts[key] === undefined) return;
      event.preventDefault();
      acts[key](event.shiftKey);
    });
  }

  /** The box that has all nodes of all runs. */
  private get box(): Box {
    const boxes = this.runs.map((run) => run.box);
    return {
      west: Math.min(...boxes.map((it) => it.west)),
      south: Math.min(...boxes.map((it) => it.south)),
      east: Math.max(...boxes.map((it) => it.east)),
      north: Math.max(...boxes.map((it) => it.north)),
    };
  }

  /** Places two maps beside each other or one above the other, as they become larger. */
  private arrange(): void {
    const maps = element("maps");
    const [wide, high] = [this.box.east - this.box.west, this.box.north - this.box.south];
    maps.style.setProperty("--aspect", (wide / high).toFixed(3));
    if (this.maps.length < 2 || window.innerWidth <= NARROW) return;
    const { width, height } = maps.getBoundingClientRect();
    const [beside, above] = [Math.min(width / 2 / wide, height / high), Math.min(width / wide, height / 2 / high)];
    maps.style.flexDirection = above > beside ? "column" : "row";
  }

  private fit(): void {
    this.camera.fit(this.box, this.maps[0].width, this.maps[0].height);
    this.dirty = true;
  }

  /** Dragging moves the map, the wheel and two fingers enlarge it, a click chooses a node. */
  private pointers(map: NodeMap): void {
    const held = new Map<number, PointerEvent>();
    let moved = 0;
    const { element: figure } = map;
    const corner = (event: MouseEvent): [number, number] => {
      const box = figure.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const zoom = (factor: number, [left, top]: [number, number]) => {
      this.camera.zoom(factor, left - map.width / 2, top - map.height / 2);
      this.dirty = true;
    };
    figure.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 400), corner(event));
    });
    figure.addEventListener("pointerdown", (event) => {
      figure.setPointerCapture(event.pointerId);
      held.set(event.pointerId, event);
      moved = 0;
    });
    figure.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before === undefined) return;
      const [right, down] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(right) + Math.abs(down);
      if (held.size === 2) {
        const other = [...held.values()].find((it) => it.pointerId !== event.pointerId) ?? event;
        const apart = (it: PointerEvent) => Math.hypot(it.clientX - other.clientX, it.clientY - other.clientY);
        zoom(apart(event) / Math.max(1, apart(before)), corner(other));
      } else {
        this.camera.pan(right, down);
        this.dirty = true;
      }
      held.set(event.pointerId, event);
    });
    const release = (event: PointerEvent) => {
      const was = held.delete(event.pointerId);
      if (!was || moved > 6 || event.type === "pointercancel") return;
      const [left, top] = corner(event);
      this.node = map.nodeAt(left, top, this.time);
      this.chosen();
    };
    figure.addEventListener("pointerup", release);
    figure.addEventListener("pointercancel", release);
  }

  private resize(): void {
    this.arrange();
    for (const map of this.maps) map.resize();
    if (this.camera.isFitted) this.fit();
    element("timeline").setAttribute("aria-valuemax", seconds(this.end));
    this.chosen();
    // A canvas of another size is empty, and must not be seen so.
    this.draw(performance.now());
    // The charts know their scales only after this.
    this.dirty = true;
  }

  /** Goes to the time of an address that ends in `#t=12.5`, with a speed and a flow, such as `#t=12.5&speed=0.01`. */
  private goToHash(): void {
    const asked = new URLSearchParams(location.hash.slice(1));
    const numbers = ["t", "speed", "flow", "node"].map(
      (name) => [name, Number.parseFloat(asked.get(name) ?? "")] as const,
    );
    for (const [name, value] of numbers) {
      if (Number.isNaN(value)) continue;
      if (name === "t") this.seek(value * 1e6);
      if (name === "speed" && SPEEDS.includes(value)) {
        element<HTMLSelectElement>("speed").value = `${value}`;
        this.faster(0);
      }
      if (name === "flow" && value < this.flows) {
        this.flow = value;
        element<HTMLSelectElement>("flow").value = `${value}`;
      }
      if (name === "node" && value < this.nodes) this.node = value;
    }
    this.chosen();
  }
}

async function begin(): Promise<void> {
  const files = [...document.querySelectorAll("script.run")].map((it) => bytesOf(it.textContent ?? ""));
  if (files.length === 0) throw new Error("expected a recording in the page, found none");
  const recordings = await Promise.all(files.map(read));
  new Player(recordings.map((it) => new Run(it)));
  document.body.dataset.ready = "true";
}

begin().catch((error: unknown) => {
  const words = document.createElement("p");
  words.className = "failure";
  words.textContent = `This replay cannot be shown: ${error instanceof Error ? error.message : error}`;
  element("maps").replaceChildren(words);
  console.error(error);
});
