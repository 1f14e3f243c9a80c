import { expect, test } from "vitest";
import { TRACE_CONTEXT_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { readTraceparent, traceContextOf } from "../../packages/api/tracecontext.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test.for(
  [
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes`, true],
  ] as const,
)("reads %s", ([text, isSampled]) => {
  expect(readTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
});

test.for([
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}`,
  "",
])("makes nothing of %s", (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});

test("reads an object's annotation, whatever somebody has put there", () => {
  const of = (text: unknown) => traceContextOf({ annotations: { [TRACE_CONTEXT_ANNOTATION]: text as string } });
  const traceparent = `00-${TRACE}-${SPAN}-01`;
  expect(of(JSON.stringify({ traceparent, tracestate: "a=b" }))).toMatchObject({ traceId: TRACE });
  const padded = JSON.stringify({ traceparent, tracestate: "a".repeat(5000) });
  for (const text of ["", "null", "[]", "{", "1", `{"traceparent":1}`, `{"traceparent":"x"}`, padded, 7, undefined]) {
    expect(of(text), String(text)).toBeUndefined();
  }
  expect(traceContextOf({})).toBeUndefined();
});
