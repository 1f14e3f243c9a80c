/** Bodies of hooks' requests come in whole, and cost what they are long, in however small chunks, and what is in them. @module */
import { expect, test } from "vitest";
import { createIntake, weigh } from "../../../packages/webhook/intake.ts";
import { liveBytes } from "../../heap.ts";

const LIMITS = {
  maxBodyBytes: 10_000_000,
  maxBodyWeight: 40_000_000,
  maxHeldWeight: 60_000_000,
  maxBodyMs: 60_000,
};

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

const bytesOf = (text: string) => new TextEncoder().encode(text);

test.for([
  { text: "{}", items: 1 },
  { text: '{"a":1,"b":[{},{}]}', items: 6 },
  { text: '{"text":"{}, [1,2]"}', items: 1 },
  { text: '{"text":"\\"{,[","b":1}', items: 2 },
  { text: '["\\\\",1]', items: 2 },
  { text: '"never closed,,,', items: 0 },
  { text: '"\\', items: 0 },
  { text: "", items: 0 },
])("what is in $text are $items items", ({ text, items }) => {
  expect(weigh(bytesOf(text))).toEqual({
    bytes: text.length,
    items,
    isWide: false,
    total: 3 * text.length + 128 * items,
  });
});

test("text that is not all ASCII weighs more: one character makes all of it two bytes each", () => {
  for (const text of ['"é"', '"日本"']) expect(weigh(bytesOf(text)).isWide).toBe(true);
});

/** Bodies of ten thousand items, whose values take much more than themselves. */
const GROWING = [
  { name: "empty objects", of: () => "{}" },
  { name: "objects of one key", of: () => '{"a":0}' },
  { name: "objects that share no key", of: (at: number) => `{"${at.toString(36)}":0}` },
  { name: "lists in lists", of: () => "[[[[]]]]" },
];
test.for(GROWING)("a body of $name weighs more than it takes as a value", ({ of }) => {
  const text = `[${Array.from({ length: 100_000 }, (_, at) => of(at)).join()}]`;
  const { total } = weigh(bytesOf(text));
  const before = liveBytes();
  const value = JSON.parse(text) as unknown[];
  expect(liveBytes() - before).toBeLessThan(total);
  expect(value).toHaveLength(100_000);
});

const items = (many: number) => `[${Array(many).fill("{}").join()}]`;
const requestWith = (text: string, isAnnounced: boolean) => {
  const headers = isAnnounced ? { "Content-Length": String(text.length) } : {};
  return new Request("http://hook/sync", { method: "POST", body: text, headers });
};

test.for([true, false])(
  "a short body with too much in it is refused before it is parsed, announced or not",
  async (isAnnounced) => {
    const intake = createIntake(LIMITS);
    const asked = intake(requestWith(items(200_000), isAnnounced), () => Promise.resolve("used"));
    await expect(asked).rejects.toMatchObject({
      status: 413,
      message: "body is too large: 600001 bytes with 400000 items of JSON",
    });
    expect(await intake(requestWith(items(100_000), isAnnounced), () => Promise.resolve("used"))).toBe("used");
  },
);

test.for([true, false])(
  "short bodies with much in them are held by what is in them, announced or not",
  async (isAnnounced) => {
    const intake = createIntake(LIMITS);
    const end = Promise.withResolvers<string>();
    const asked = requestWith.bind(undefined, items(100_000), isAnnounced);
    const hold = () => {
      const begun = Promise.withResolvers<void>();
      const answer = intake(asked(), () => (begun.resolve(), end.promise));
      return { answer, begun: begun.promise };
    };
    const held = [hold(), hold()];
    for (const { begun } of held) await begun;
    const ask = () => intake(asked(), () => Promise.resolve("used"));
    await expect(ask()).rejects.toMatchObject({ status: 429 });
    expect(await intake(requestWith("{}", true), () => Promise.resolve("used")), "a small one has room").toBe("used");
    end.resolve("used");
    expect(await Promise.all(held.map(({ answer }) => answer))).toEqual(["used", "used"]);
    expect(await ask(), "there is room again").toBe("used");
  },
);
