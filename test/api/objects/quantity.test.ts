import { expect, test } from "vitest";
import { quantity } from "../../../packages/api/objects/quantity.ts";

test.for(
  [
    ["500m", 0.5],
    ["2", 2],
    ["1e3", 1000],
    ["1k", 1000],
    ["1Gi", 1024 ** 3],
    ["0.5Mi", 512 * 1024],
    ["5n", 5e-9],
    ["many", NaN],
    ["1Xi", NaN],
  ] as const,
)("quantity %s is %s", ([text, amount]) => {
  expect(quantity(text)).toBe(amount);
});
