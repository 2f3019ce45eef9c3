// The view of the map: which place is in the middle, and how many pixels a metre has. Both maps share it.

import type { Box } from "./run";

export class Camera {
  x = 0;
  y = 0;
  /** Pixels of the page for each metre. */
  scale = 1;
  /** Whether nobody has moved the view since it was fitted. */
  isFitted = true;

  /** Shows a whole box in a window of this size. */
  fit(box: Box, width: number, height: number): void {
    this.x = (box.west + box.east) / 2;
    this.y = (box.south + box.north) / 2;
    this.scale = Math.min(width / (box.east - box.west), height / (box.north - box.south));
    this.isFitted = true;
  }

  /** Moves the view by pixels. */
  pan(right: number, down: number): void {
    this.x -= right / this.scale;
    this.y += down / this.scale;
    this.isFitted = false;
  }

  /** Enlarges around a point, in pixels from the middle. */
  zoom(factor: number, right: number, down: number): void {
    const scale = Math.min(1000, Math.max(1e-4, this.scale * factor));
    this.x += right / this.scale - right / scale;
    this.y -= down / this.scale - down / scale;
    this.scale = scale;
    this.isFitted = false;
  }
}
