/** Draws a trace as SVG: one bar for each span, over time. @module */

/** The data of a span that is drawn. Times are in milliseconds since the epoch. */
interface DrawnSpan {
  service: string;
  name: string;
  spanId: string;
  parentSpanId: string;
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  events: readonly { name: string; at: number }[];
}

const WIDTH = 860;
const LEFT = 350;
const RIGHT = 80;
const ROW = 26;
const TOP = 44;

const STYLE = `  :root {
    color-scheme: light dark;
  }
  text {
    font: 13px system-ui, sans-serif;
    fill: light-dark(#1c1f26, #e6e8ee);
  }
  .small {
    fill: light-dark(#5c6370, #9aa1ae);
  }
  line {
    stroke: light-dark(#d5d8df, #3a3f4b);
  }
  .program { fill: light-dark(#aab0bd, #6b7280); }
  .binder { fill: light-dark(#1a7f37, #7ed492); }
  .hooks { fill: light-dark(#b35900, #f0b072); }
  .router { fill: light-dark(#0b62d6, #7fb2ff); }
  .mark { fill: light-dark(#c4314b, #ff8fa3); }`;

/** Draws a trace. Spans are in the order of time, below the spans to which they belong. */
export function drawTrace(spans: readonly DrawnSpan[]): string {
  const rows = inOrder(spans);
  const begin = Math.min(...rows.map(({ span }) => span.start));
  const length = Math.max(1, ...rows.map(({ span }) => span.end - begin));
  const x = (at: number) => Math.round(LEFT + ((at - begin) / length) * (WIDTH - LEFT - RIGHT));
  const height = TOP + rows.length * ROW + 16;
  const what = `A trace of ${Math.round(length)} ms: ${rows.map(({ span }) => labelOf(span)).join(", ")}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img"`,
    `  aria-label="${escaped(what)}">`,
    `  <style>\n${STYLE}\n  </style>`,
    ...scale(begin, length, height, x),
    ...rows.map((row, index) => drawRow(row, TOP + index * ROW, x)),
    "</svg>\n",
  ].join("\n");
}

function scale(begin: number, length: number, height: number, x: (at: number) => number): string[] {
  const step = stepOf(length);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => {
    const at = x(begin + index * step);
    const text = `<text class="small" x="${at}" y="${TOP - 18}" text-anchor="middle">${index * step} ms</text>`;
    return `  <line x1="${at}" y1="${TOP - 12}" x2="${at}" y2="${height - 12}" />\n  ${text}`;
  });
}

function drawRow({ span, depth }: Row, y: number, x: (at: number) => number): string {
  const part = partOf(span);
  const from = x(span.start);
  const width = Math.max(2, x(span.end) - from);
  const ms = span.end - span.start;
  // The binder's events are left out: the beginnings of its spans show the same.
  const marked = part === "program" ? span.events : [];
  return [
    `  <text x="${12 + depth * 14}" y="${y + 13}">${escaped(labelOf(span))}</text>`,
    `  <rect class="${part}" x="${from}" y="${y + 1}" width="${width}" height="16" rx="3" />`,
    `  <text class="small" x="${from + width + 6}" y="${y + 13}">${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms</text>`,
    ...marked.map(({ name, at }) =>
      `  <circle class="mark" cx="${x(at)}" cy="${y + 9}" r="4"><title>${escaped(name)}</title></circle>`
    ),
  ].join("\n");
}

interface Row {
  span: DrawnSpan;
  depth: number;
}

function inOrder(spans: readonly DrawnSpan[]): Row[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const byParent = Map.groupBy(spans, ({ parentSpanId }) => ids.has(parentSpanId) ? parentSpanId : "");
  const below = (parent: string, depth: number): Row[] =>
    (byParent.get(parent) ?? []).toSorted((a, b) => a.start - b.start || b.end - a.end).flatMap((span) => [
      { span, depth },
      ...below(span.spanId, depth + 1),
    ]);
  return below("", 0);
}

function labelOf({ name, attributes }: DrawnSpan): string {
  const [hook, isSync] = name.split("/");
  if (isSync) return `${hook} hook: ${wordsOf(attributes)}`;
  const path = attributes["url.path"];
  const tail = typeof path === "string" ? ` …/${path.split("/").at(-1)}` : "";
  return `${name.replace(/^hookbox\./, "")}${tail}`;
}

/** Describes a hook's span. If it has no message, the numbers of observed and desired children describe it. */
function wordsOf(attributes: DrawnSpan["attributes"]): string {
  const message = attributes["hookbox.message"];
  if (typeof message === "string") return message;
  return `${attributes["hookbox.children.observed"]} of ${attributes["hookbox.children.desired"]} children`;
}

function partOf({ service, name }: DrawnSpan): "program" | "binder" | "hooks" | "router" {
  if (name.endsWith("/sync")) return "hooks";
  if (service === "hookbox-router") return "router";
  return service.startsWith("hookbox-") ? "binder" : "program";
}

/** Returns the distance between marks on the time axis, so that there are about five to eight. */
function stepOf(length: number): number {
  const power = 10 ** Math.floor(Math.log10(length));
  return [power / 10, power / 5, power / 2, power].find((step) => length / step <= 8) ?? power * 2;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
