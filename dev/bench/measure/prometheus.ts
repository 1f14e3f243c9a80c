/** Reads samples from Prometheus' text format. @module */

/** One line: `name{labels} value`. */
export interface MetricSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Lists the samples of these metrics, in the order of the text. Other metrics and comments are skipped. */
export function readSamples(text: string, names: readonly string[]): MetricSample[] {
  return text.split("\n").flatMap((line) => {
    const [, name = "", labels = "", value] = LINE.exec(line) ?? [];
    if (!names.includes(name)) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
