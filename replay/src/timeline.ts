// The time line: how many frames there are, where packets are dropped, where a flow's path changes.

import { DROP, hex, QUIET, ROUTE, RUNS } from "./colours";
import type { Run } from "./run";

export class Timeline {
  private readonly pen: CanvasRenderingContext2D;
  /** The picture without the time. */
  private picture: HTMLCanvasElement = document.createElement("canvas");
  private width = 1;
  private height = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly runs: Run[],
    private readonly end: number,
    seek: (time: number) => void,
  ) {
    const pen = canvas.getContext("2d");
    if (pen === null) throw new Error("expected a browser with a canvas");
    this.pen = pen;
    const at = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      seek(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * this.end);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      at(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) at(event);
    });
  }

  /** Draws the picture for a size and a flow. */
  prepare(flow: number | null, difference: number | null): void {
    const box = this.canvas.getBoundingClientRect();
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    [this.width, this.height] = [Math.max(1, box.width), Math.max(1, box.height)];
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const pen = this.picture.getContext("2d");
    if (pen === null) return;
    pen.fillStyle = "#f6f7f9";
    pen.fillRect(0, 0, this.width, this.height);
    const lane = this.height / this.runs.length;
    this.runs.forEach((run, place) => {
      this.lane(pen, run, place, flow, place * lane, lane);
    });
    if (difference !== null) {
      const x = (difference / this.end) * this.width;
      pen.fillStyle = "#111";
      pen.beginPath();
      pen.moveTo(x - 6, 0);
      pen.lineTo(x + 6, 0);
      pen.lineTo(x, 9);
      pen.fill();
      pen.fillRect(x - 0.5, 0, 1, this.height);
    }
  }

  private lane(
    pen: CanvasRenderingContext2D,
    run: Run,
    place: number,
    flow: number | null,
    top: number,
    height: number,
  ): void {
    const bins = new Float64Array(Math.ceil(this.width));
    const bin = (time: number) => Math.min(bins.length - 1, Math.floor((time / this.end) * bins.length));
    for (const time of run.frames.columns.begin) bins[bin(time)] += 1;
    const most = bins.reduce((found, count) => Math.max(found, count), 1);
    const colour = hex(this.runs.length > 1 ? RUNS[place] : QUIET);
    const room = height - 12;
    pen.fillStyle = colour;
    pen.globalAlpha = 0.55;
    bins.forEach((count, x) => {
      const tall = Math.sqrt(count / most) * room;
      pen.fillRect(x, top + height - 2 - tall, 1, tall);
    });
    pen.globalAlpha = 1;
    const { time: pathTimes, flow: flows } = run.paths.columns;
    pen.fillStyle = hex(ROUTE);
    pathTimes.forEach((time, row) => {
      if (flows[row] === flow) pen.fillRect(bin(time) - 0.5, top + height - 7, 1.5, 7);
    });
    pen.fillStyle = hex(DROP);
    for (const time of run.drops.columns.time) pen.fillRect(bin(time) - 0.5, top + 1, 1.5, 8);
  }

  draw(time: number): void {
    const { pen } = this;
    pen.drawImage(this.picture, 0, 0, this.width, this.height);
    const x = (time / this.end) * this.width;
    pen.fillStyle = "rgb(17 24 39 / 0.06)";
    pen.fillRect(0, 0, x, this.height);
    pen.fillStyle = "#111827";
    pen.fillRect(x - 1, 0, 2, this.height);
  }
}
