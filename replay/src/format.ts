// Reads a recording; docs/development/replay-format.md describes its form.

const MAGIC = "HOPYRPL1";
/** Positions are centimetres, counted from so far in the south-west. */
const ORIGIN = 1e9;

export interface Shape {
  kind: string;
  content: string;
  retry: boolean;
  airtime: number;
  mode: string;
}

export interface Flow {
  from: number;
  to: number;
  label: string;
  tcp: boolean;
}

export interface Jammer {
  node: number;
  from: number;
  until: number;
  period: number;
  on: number;
}

export interface Header {
  origin: {
    scenario: string;
    settings: [string, string][];
    config: string;
    seed: number;
    run: number;
    version: string;
    digest: string;
  };
  duration: number;
  slice: number;
  nodes: number;
  interfaces: { node: number; channel?: number; wire?: number }[];
  flows: Flow[];
  ranges: (number | null)[];
  obstacles: { low: [number, number]; high: [number, number] }[];
  jammers: Jammer[];
  shapes: Shape[];
  reasons: string[];
  contents: string[];
  paths: number[][];
  tables: { name: string; rows: number; seen: number; level: number; columns: [string, number][] }[];
}

export interface Table {
  rows: number;
  /** Rows before the table was thinned. */
  seen: number;
  /** Every 2^level-th slice of the run is there. */
  level: number;
  columns: Record<string, Float64Array>;
}

export interface Recording {
  header: Header;
  tables: Record<string, Table>;
}

/** A position along an axis, in metres. */
export const metres = (stored: number): number => (stored - ORIGIN) / 100;

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

export async function read(file: Uint8Array<ArrayBuffer>): Promise<Recording> {
  const magic = new TextDecoder().decode(file.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new Error(`expected a recording that begins with ${MAGIC}, found ${magic}`);
  const packed = new Blob([file.subarray(MAGIC.length)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  let at = 4 + length;
  const header: Header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, at)));
  const tables: Record<string, Table> = {};
  for (const { name, rows, seen, level, columns } of header.tables) {
    const found: Record<string, Float64Array> = {};
    for (const [column, size] of columns) {
      found[column] = differences(bytes.subarray(at, at + size), rows);
      at += size;
    }
    tables[name] = { rows, seen, level, columns: found };
  }
  return { header, tables };
}

/** Adds up differences, each a number of variable length with its sign in the lowest bit. */
function differences(bytes: Uint8Array, rows: number): Float64Array {
  const values = new Float64Array(rows);
  let at = 0;
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    let coded = 0;
    let scale = 1;
    let byte = 0x80;
    while (byte & 0x80) {
      byte = bytes[at++];
      coded += (byte & 0x7f) * scale;
      scale *= 128;
    }
    sum += coded % 2 ? -(coded + 1) / 2 : coded / 2;
    values[row] = sum;
  }
  if (at !== bytes.length) throw new Error(`expected ${bytes.length} bytes of a column, found ${at}`);
  return values;
}
