/** Reads Prometheus' text format, and the hooks' metrics about their calls. @module */
import type { HookUse } from "../result.ts";

/** One line: `name{labels} value`. */
interface MetricSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const BYTES = "hookbox_hook_body_bytes_total";

const SECONDS = "hookbox_hook_request_duration_seconds_sum";

const CALLS = "hookbox_hook_request_duration_seconds_count";

/** Lists the samples of these metrics, in the order of the text. Other metrics and comments are skipped. */
export function readSamples(text: string, names: readonly string[]): MetricSample[] {
  return text.split("\n").flatMap((line) => {
    const [, name = "", labels = "", value] = LINE.exec(line) ?? [];
    if (!names.includes(name)) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/**
 * Reads the metrics of the hooks with these base URLs, one entry for each hook and endpoint. A hook without metrics has
 * no entry.
 */
export async function readHookUse(urls: readonly string[]): Promise<HookUse[]> {
  const texts = await Promise.all(urls.map(async (url) => await (await fetch(`${url}/metrics`)).text()));
  return texts.flatMap((text) => hookUseOf(readSamples(text, [BYTES, SECONDS, CALLS])));
}

/** Groups the samples of one process by hook and endpoint, sorted by name. */
export function hookUseOf(samples: readonly MetricSample[]): HookUse[] {
  const keyOf = ({ labels }: MetricSample) => `${labels["hook"]}/${labels["endpoint"]}`;
  const keys = [...new Set(samples.map(keyOf))].sort();
  return keys.map((hook) => {
    const value = (name: string, direction?: string) =>
      samples.find((sample) =>
        keyOf(sample) === hook && sample.name === name && sample.labels["direction"] === direction
      )
        ?.value ?? 0;
    return {
      hook,
      calls: value(CALLS),
      requestBytes: value(BYTES, "in"),
      responseBytes: value(BYTES, "out"),
      seconds: value(SECONDS),
    };
  });
}

/** Returns the calls between two readings. */
export function hookUseBetween(before: readonly HookUse[], after: readonly HookUse[]): HookUse[] {
  return after.flatMap((now) => {
    const then = before.find(({ hook }) => hook === now.hook);
    const use = {
      hook: now.hook,
      calls: now.calls - (then?.calls ?? 0),
      requestBytes: now.requestBytes - (then?.requestBytes ?? 0),
      responseBytes: now.responseBytes - (then?.responseBytes ?? 0),
      seconds: now.seconds - (then?.seconds ?? 0),
    };
    return use.calls > 0 ? [use] : [];
  });
}
