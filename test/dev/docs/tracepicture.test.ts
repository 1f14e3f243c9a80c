import { expect, test } from "vitest";
import { drawTrace } from "../../../dev/docs/tracepicture.ts";

const aSpan = (name: string, over: object = {}) => ({
  ...{ service: "program", name, spanId: name, parentSpanId: "", start: 1000, end: 1100 },
  ...{ attributes: {}, events: [], ...over },
});

test("spans stand below those that they are part of, by time, with what the hook has said and how long each took", () => {
  const svg = drawTrace([
    aSpan("hookbox.late", { parentSpanId: "hookbox.create", start: 1050, end: 1052.5, service: "hookbox-binder" }),
    aSpan("sandbox/sync", {
      ...{ parentSpanId: "hookbox.create", start: 1010, end: 1030, service: "hookbox-sandbox" },
      attributes: { "hookbox.message": 'Pod "a" & <b>' },
    }),
    aSpan("quiet/sync", {
      ...{ parentSpanId: "hookbox.create", start: 1005, end: 1006 },
      attributes: { "hookbox.children.observed": 0, "hookbox.children.desired": 1 },
    }),
    aSpan("hookbox.create", { parentSpanId: "unknown", events: [{ name: "first output", at: 1100 }] }),
  ]);
  const texts = [...svg.matchAll(/<text(?: class="small")? x="(\d+)"[^>]*>([^<]*)</g)].map(([, x, text]) =>
    `${x} ${text}`
  );
  const labels = texts.filter((text) => /^\d\d /.test(text));
  expect(labels).toEqual([
    "12 create",
    "26 quiet hook: 0 of 1 children",
    "26 sandbox hook: Pod &quot;a&quot; &amp; &lt;b>",
    "26 late",
  ]);
  expect(texts.filter((text) => text.endsWith(" ms")).map((text) => text.replace(/^\d+ /, ""))).toEqual([
    ...["0 ms", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms"],
    ...["100 ms", "1.0 ms", "20 ms", "2.5 ms"],
  ]);
  expect([...svg.matchAll(/rect class="(\w+)"/g)].map(([, part]) => part)).toEqual([
    "program",
    "hooks",
    "hooks",
    "binder",
  ]);
  expect(svg).toContain("<title>first output</title>");
});
