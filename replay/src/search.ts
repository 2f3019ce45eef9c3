/** The first place among sorted values from `low` on whose value is greater than `value`. */
export function after(values: Float64Array, value: number, low = 0, high = values.length): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The first place among sorted values whose value is not less than `value`. */
export function from(values: Float64Array, value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
