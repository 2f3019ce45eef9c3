// What WebGL draws: discs for nodes, which the vertex shader moves; lines; rings.

import * as twgl from "twgl.js";
import type { Camera } from "./camera";
import type { Colour } from "./colours";

const HEAD = `#version 300 es
precision highp float;
in vec2 corner;
uniform vec2 middle, view;
uniform float scale;
vec4 place(vec2 metres, vec2 pixels) {
  return vec4(((metres - middle) * scale + pixels) * 2.0 / view, 0.0, 1.0);
}
`;

const DISC = [
  `${HEAD}
uniform float time;
in vec4 way; in vec2 times; in vec4 look;
out vec2 at; out vec3 colour; out float radius;
void main() {
  float part = clamp((time - times.x) / max(times.y - times.x, 1e-6), 0.0, 1.0);
  radius = look.w;
  at = corner * (radius + 1.5);
  colour = look.rgb;
  gl_Position = place(mix(way.xy, way.zw, part), at);
}`,
  `#version 300 es
precision highp float;
in vec2 at; in vec3 colour; in float radius;
out vec4 pixel;
void main() {
  float away = length(at);
  float inside = clamp(radius + 0.5 - away, 0.0, 1.0);
  float rim = radius > 4.0 ? clamp(away - radius + 1.5, 0.0, 1.0) : 0.0;
  pixel = vec4(mix(colour, vec3(1.0), rim * 0.85), 1.0) * inside;
}`,
];

const LINE = [
  `${HEAD}
in vec4 way; in vec4 tint; in vec2 form;
out float across; out float along; out vec4 colour; out float width; out float dash;
void main() {
  vec2 line = (way.zw - way.xy) * scale;
  float size = length(line);
  vec2 ahead = size > 0.0 ? line / size : vec2(1.0, 0.0);
  width = form.x; dash = form.y;
  across = corner.y * (width * 0.5 + 1.0);
  along = (corner.x * 0.5 + 0.5) * size;
  colour = tint;
  gl_Position = place(way.xy, ahead * along + vec2(-ahead.y, ahead.x) * across);
}`,
  `#version 300 es
precision highp float;
in float across; in float along; in vec4 colour; in float width; in float dash;
out vec4 pixel;
void main() {
  float inside = clamp(width * 0.5 + 0.5 - abs(across), 0.0, 1.0);
  if (dash > 0.0 && mod(along, dash) > dash * 0.55) inside = 0.0;
  pixel = vec4(colour.rgb, 1.0) * colour.a * inside;
}`,
];

const RING = [
  `${HEAD}
in vec3 disc; in vec4 tint; in float rim;
out vec2 at; out vec4 colour; out float radius; out float width;
void main() {
  radius = disc.z * scale;
  width = rim;
  at = corner * (radius + width + 1.0);
  colour = tint;
  gl_Position = place(disc.xy, at);
}`,
  `#version 300 es
precision highp float;
in vec2 at; in vec4 colour; in float radius; in float width;
out vec4 pixel;
void main() {
  float away = length(at) - radius;
  float edge = clamp(width * 0.5 + 0.5 - abs(away), 0.0, 1.0);
  float fill = clamp(0.5 - away, 0.0, 1.0) * 0.07;
  pixel = vec4(colour.rgb, 1.0) * colour.a * max(edge, fill);
}`,
];

/** Instances of one form, each a few numbers. */
export class Layer {
  private readonly program: twgl.ProgramInfo;
  private readonly buffers: twgl.BufferInfo;
  private readonly array: twgl.VertexArrayInfo;
  private readonly buffer: WebGLBuffer;
  private readonly width: number;
  private data = new Float32Array(1024);
  private room = 0;
  private isNew = true;
  count = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    shaders: string[],
    fields: [string, number][],
  ) {
    this.program = twgl.createProgramInfo(gl, shaders);
    this.width = fields.reduce((sum, [, size]) => sum + size, 0);
    this.buffer = gl.createBuffer();
    const attribs: Record<string, twgl.AttribInfo> = {
      corner: { buffer: twgl.createBufferFromTypedArray(gl, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1])), size: 2 },
    };
    let offset = 0;
    for (const [name, size] of fields) {
      attribs[name] = { buffer: this.buffer, size, stride: this.width * 4, offset: offset * 4, divisor: 1 };
      offset += size;
    }
    this.buffers = { numElements: 4, attribs };
    this.array = twgl.createVertexArrayInfo(gl, this.program, this.buffers);
  }

  clear(): void {
    this.count = 0;
    this.isNew = true;
  }

  push(...values: number[]): void {
    this.set(this.count, values);
    this.count += 1;
  }

  /** Replaces an instance. */
  set(place: number, values: number[]): void {
    const at = place * this.width;
    if (at + this.width > this.data.length) {
      const larger = new Float32Array(2 * this.data.length);
      larger.set(this.data);
      this.data = larger;
    }
    this.data.set(values, at);
    this.isNew = true;
  }

  draw(uniforms: Record<string, number | number[]>): void {
    const { gl } = this;
    if (this.count === 0) return;
    if (this.isNew) {
      const used = this.data.subarray(0, this.count * this.width);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
      if (this.data.length > this.room) {
        gl.bufferData(gl.ARRAY_BUFFER, this.data, gl.DYNAMIC_DRAW);
        this.room = this.data.length;
      } else gl.bufferSubData(gl.ARRAY_BUFFER, 0, used);
      this.isNew = false;
    }
    gl.useProgram(this.program.program);
    twgl.setBuffersAndAttributes(gl, this.program, this.array);
    twgl.setUniforms(this.program, uniforms);
    twgl.drawBufferInfo(gl, this.array, gl.TRIANGLE_STRIP, 4, 0, this.count);
  }
}

/** All layers of a map, from the lowest to the highest. */
export class Layers {
  readonly grounds: Layer;
  readonly rings: Layer;
  readonly lines: Layer;
  readonly discs: Layer;
  readonly crosses: Layer;
  readonly marks: Layer;

  constructor(private readonly gl: WebGL2RenderingContext) {
    const rings: [string, number][] = [
      ["disc", 3],
      ["tint", 4],
      ["rim", 1],
    ];
    const lines: [string, number][] = [
      ["way", 4],
      ["tint", 4],
      ["form", 2],
    ];
    this.grounds = new Layer(gl, LINE, lines);
    this.rings = new Layer(gl, RING, rings);
    this.lines = new Layer(gl, LINE, lines);
    this.discs = new Layer(gl, DISC, [
      ["way", 4],
      ["times", 2],
      ["look", 4],
    ]);
    this.crosses = new Layer(gl, LINE, lines);
    this.marks = new Layer(gl, RING, rings);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Draws everything; the time is in seconds. */
  draw(camera: Camera, width: number, height: number, time: number): void {
    const { gl } = this;
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const common = { middle: [camera.x, camera.y], view: [width, height], scale: camera.scale };
    this.grounds.draw(common);
    this.rings.draw(common);
    this.lines.draw(common);
    this.discs.draw({ ...common, time });
    this.crosses.draw(common);
    this.marks.draw(common);
  }
}

/** The numbers of a line between two places. */
export const line = (
  [x0, y0]: [number, number],
  [x1, y1]: [number, number],
  [red, green, blue]: Colour,
  alpha: number,
  width: number,
  dash = 0,
): number[] => [x0, y0, x1, y1, red, green, blue, alpha, width, dash];

/** The numbers of a ring around a place, with a radius in metres. */
export const ring = (
  [x, y]: [number, number],
  radius: number,
  [red, green, blue]: Colour,
  alpha: number,
  width: number,
): number[] => [x, y, radius, red, green, blue, alpha, width];
