/** The option `--otlp-endpoint` of every process that records spans. @module */

/** What the help of each process says of the option. */
export const OTLP_HELP = "collector that spans are sent to, by OTLP over HTTP, such as http://collector:4318";

/** Reads the option. @throws {RangeError} if it is no URL of HTTP */
export function readEndpoint(text: string): string | undefined {
  if (text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, "");
  throw new RangeError(`Cannot send spans to "${text}": it is not a URL such as http://collector:4318`);
}
