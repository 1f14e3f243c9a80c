/** Bodies of hooks' requests come in whole, and cost what they are long, in however small chunks they come. @module */
import { expect, test } from "vitest";
import { createIntake } from "../../packages/webhook/intake.ts";
import { liveBytes } from "../heap.ts";

const LIMITS = { maxBodyBytes: 10_000_000, maxHeldBytes: 20_000_000, maxBodyMs: 60_000 };

/** A request whose body comes in chunks of these sizes, each byte another than the one before; `atEnd` before it ends. */
function requestOf(sizes: Iterable<number>, atEnd = () => {}): Request {
  let at = 0;
  const next = sizes[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = next.next();
      if (!done) return controller.enqueue(Uint8Array.from({ length: value }, () => at++ % 251));
      atEnd();
      controller.close();
    },
  });
  return new Request("http://hook/sync", { method: "POST", body, duplex: "half" } as RequestInit);
}

test.for([
  { name: "one-byte chunks", sizes: Array(70_000).fill(1) },
  { name: "large ones", sizes: [65_536, 65_536, 4096] },
  { name: "small ones between large ones", sizes: [1, 65_536, 4095, 2, 4096, 3, 4095, 8192, 5] },
  { name: "small ones that fill a block", sizes: Array(40).fill(4095) },
  { name: "empty ones", sizes: [0, 5, 0] },
  { name: "none", sizes: [] },
])("a body of $name comes in as it was sent", async ({ sizes }) => {
  const length = sizes.reduce((sum, size) => sum + size, 0);
  const body = await createIntake(LIMITS)(requestOf(sizes), (read) => Promise.resolve(read));
  expect(body).toHaveLength(length);
  expect(body.findIndex((byte, i) => byte !== i % 251)).toBe(-1);
});

test("a body of one-byte chunks takes little memory before its end", async () => {
  let live = 0;
  const sizes = Array(300_000).fill(1);
  const before = liveBytes();
  await createIntake(LIMITS)(requestOf(sizes, () => live = liveBytes()), () => Promise.resolve());
  expect(live - before).toBeLessThan(4_000_000);
});
