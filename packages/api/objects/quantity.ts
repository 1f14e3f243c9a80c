/** Parses Kubernetes quantities. @module */

const SUFFIXES: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Returns a quantity such as `500m`, `1Gi` or `1e3` as a number; NaN: it is not a valid quantity. */
export function quantity(text: string): number {
  const [, digits = "", suffix = ""] = /^([-+]?[\d.]+(?:[eE][-+]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const power = BINARY.indexOf(suffix);
  return digits === "" ? NaN : Number(digits) * (power >= 0 ? 1024 ** (power + 1) : SUFFIXES[suffix] ?? NaN);
}
