// Colours that are told apart without red and green (Okabe and Ito), and in grey by the kind of line.

import type { FrameClass } from "./events";

export type Colour = [number, number, number];

export const hex = ([red, green, blue]: Colour): string => `rgb(${red * 255} ${green * 255} ${blue * 255})`;

const of = (code: number): Colour => [(code >> 16) / 255, ((code >> 8) & 255) / 255, (code & 255) / 255];

export const INK = of(0x30343b);
export const QUIET = of(0x8a919c);
export const DROP = of(0xd55e00);
export const ROUTE = of(0x009e73);
export const RANGE = of(0x56b4e9);
export const WIRE = of(0x6b7280);

export const FRAMES: Record<FrameClass, Colour> = {
  data: of(0x0072b2),
  ack: of(0x56b4e9),
  routing: of(0xb4488c),
  control: of(0x9aa1ac),
  other: of(0xe69f00),
};

/** The names of the classes, for the legend. */
export const FRAME_NAMES: Record<FrameClass, string> = {
  data: "data",
  ack: "TCP ACK",
  routing: "routing",
  control: "RTS, CTS, ACK",
  other: "ARP, ICMP",
};

/** The colours of runs in charts and on the time line: in grey, the first is far darker than the second. */
export const RUNS: Colour[] = [of(0x004c7a), of(0xd07a00)];
