// What WebGL draws: discs for nodes, which the vertex shader moves; lines; rings.

import * as twgl from "twgl.js";
import type { Camera } from "./camera";
import type { Colour } from "./colours";

/** So many forms stand in a row of a texture. */
const WIDE = 512;

/** The begin of a vertex shader of forms that have so many texels, and so many vertices, each. */
const head = (texels: number, vertices = 6): string => `#version 300 es
precision highp float;
uniform highp sampler2D rows;
uniform vec2 middle, view;
uniform float scale;
const vec2 corners[6] = vec2[](
  vec2(-1, -1), vec2(1, -1), vec2(-1, 1), vec2(-1, 1), vec2(1, -1), vec2(1, 1)
);
vec4 texel(int part) {
  int form = gl_VertexID / ${vertices};
  return texelFetch(rows, ivec2(form % ${WIDE} * ${texels} + part, form / ${WIDE}), 0);
}
vec4 place(vec2 metres, vec2 pixels) {
  return vec4(((metres - middle) * scale + pixels) * 2.0 / view, 0.0, 1.0);
}
`;

/** A form: the numbers of an instance, in texels of four, and its shaders. */
interface Form {
  texels: number;
  /** A form is two triangles, or a point: a sixth of the vertices, which are what many nodes cost. */
  isPoint?: boolean;
  shaders: string[];
}

/** Way (x0, y0, x1, y1); colour and radius; begin and end in seconds. */
const DISC: Form = {
  texels: 3,
  isPoint: true,
  shaders: [
    `${head(3, 1)}
uniform float time, ratio;
out vec3 colour; out float radius;
void main() {
  vec4 way = texel(0), look = texel(1), times = texel(2);
  float part = clamp((time - times.x) / max(times.y - times.x, 1e-6), 0.0, 1.0);
  radius = look.w;
  colour = look.rgb;
  gl_PointSize = 2.0 * (radius + 1.5) * ratio;
  gl_Position = place(mix(way.xy, way.zw, part), vec2(0.0));
}`,
    `#version 300 es
precision highp float;
in vec3 colour; in float radius;
out vec4 pixel;
void main() {
  float away = length(gl_PointCoord * 2.0 - 1.0) * (radius + 1.5);
  float inside = clamp(radius + 0.5 - away, 0.0, 1.0);
  float rim = radius > 4.0 ? clamp(away - radius + 1.5, 0.0, 1.0) : 0.0;
  pixel = vec4(mix(colour, vec3(1.0), rim * 0.85), 1.0) * inside;
}`,
  ],
};

/** Way (x0, y0, x1, y1); colour and opacity; width and dash in pixels. */
const LINE: Form = {
  texels: 3,
  shaders: [
    `${head(3)}
out float across; out float along; out vec4 colour; out float width; out float dash;
void main() {
  vec4 way = texel(0), form = texel(2);
  vec2 corner = corners[gl_VertexID % 6];
  vec2 line = (way.zw - way.xy) * scale;
  float size = length(line);
  vec2 ahead = size > 0.0 ? line / size : vec2(1.0, 0.0);
  width = form.x; dash = form.y;
  across = corner.y * (width * 0.5 + 1.0);
  along = (corner.x * 0.5 + 0.5) * size;
  colour = texel(1);
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
  ],
};

/** Place and radius in metres, width in pixels; colour and opacity. */
const RING: Form = {
  texels: 2,
  shaders: [
    `${head(2)}
out vec2 at; out vec4 colour; out float radius; out float width;
void main() {
  vec4 disc = texel(0);
  radius = disc.z * scale;
  width = disc.w;
  at = corners[gl_VertexID % 6] * (radius + width + 1.0);
  colour = texel(1);
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
  ],
};

/**
 * Many forms of a kind. The vertex shader reads their numbers from a texture: WebGL by software makes a draw call
 * of each instance of an instanced call.
 */
export class Layer {
  private readonly program: twgl.ProgramInfo;
  private readonly texture: WebGLTexture;
  private readonly texels: number;
  private readonly isPoint: boolean;
  /** Rows of the texture. */
  private height = 4;
  private data: Float32Array;
  /** Rows that have changed since they were given to the graphics processor: from the first up to the last. */
  private changed: [number, number] = [Infinity, -1];
  count = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    { texels, isPoint = false, shaders }: Form,
  ) {
    this.program = twgl.createProgramInfo(gl, shaders);
    this.texels = texels;
    this.isPoint = isPoint;
    this.data = new Float32Array(this.height * WIDE * texels * 4);
    this.texture = gl.createTexture();
    this.reserve();
  }

  clear(): void {
    this.count = 0;
  }

  push(values: number[]): void {
    this.set(this.count, values);
    this.count += 1;
  }

  /** Replaces an instance. */
  set(place: number, values: number[]): void {
    const row = Math.floor(place / WIDE);
    if (row >= this.height) this.grow(row + 1);
    const at = place * this.texels * 4;
    for (let number = 0; number < values.length; number++) this.data[at + number] = values[number];
    const [first, last] = this.changed;
    this.changed = [Math.min(first, row), Math.max(last, row)];
  }

  private grow(least: number): void {
    const { data } = this;
    this.height = Math.max(least, 2 * this.height);
    this.data = new Float32Array(this.height * WIDE * this.texels * 4);
    this.data.set(data);
    this.reserve();
    this.changed = [0, this.height - 1];
  }

  /** Makes the texture as large as the data. */
  private reserve(): void {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, WIDE * this.texels, this.height, 0, gl.RGBA, gl.FLOAT, null);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    }
  }

  /** Gives the rows that have changed to the graphics processor. */
  private update(): void {
    const { gl, texels } = this;
    const [first, last] = this.changed;
    if (last < first) return;
    const long = WIDE * texels;
    const rows = this.data.subarray(first * long * 4, (last + 1) * long * 4);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, first, long, last - first + 1, gl.RGBA, gl.FLOAT, rows);
    this.changed = [Infinity, -1];
  }

  draw(uniforms: Record<string, number | number[]>): void {
    const { gl } = this;
    if (this.count === 0) return;
    this.update();
    gl.useProgram(this.program.program);
    twgl.setUniforms(this.program, { ...uniforms, rows: this.texture });
    if (this.isPoint) gl.drawArrays(gl.POINTS, 0, this.count);
    else gl.drawArrays(gl.TRIANGLES, 0, 6 * this.count);
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
    this.grounds = new Layer(gl, LINE);
    this.rings = new Layer(gl, RING);
    this.lines = new Layer(gl, LINE);
    this.discs = new Layer(gl, DISC);
    this.crosses = new Layer(gl, LINE);
    this.marks = new Layer(gl, RING);
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
    this.discs.draw({ ...common, time, ratio: gl.canvas.width / width });
    this.crosses.draw(common);
    this.marks.draw(common);
  }
}

/** The numbers of a node that moves from a place to another between two times in seconds. */
export const disc = (
  [x0, y0]: [number, number],
  [x1, y1]: [number, number],
  [begin, end]: [number, number],
  [red, green, blue]: Colour,
  radius: number,
): number[] => [x0, y0, x1, y1, red, green, blue, radius, begin, end];

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
): number[] => [x, y, radius, width, red, green, blue, alpha];
