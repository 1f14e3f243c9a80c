/** Options of the keeper for CloudEvents. Reads nothing but its arguments. @module */

/** Where CloudEvents go, and what they say of where they come from. */
export interface CloudEventsOptions {
  url: string;
  secretFile: string;
  /** `source` of each event: names the cluster. */
  source: string;
}

export const OPTIONS = {
  "cloudevents-url": { type: "string", default: "" },
  "cloudevents-secret-file": { type: "string", default: "" },
  "cloudevents-source": { type: "string", default: "/hookbox" },
} as const;

export const HELP =
  `  --cloudevents-url URL  where to send CloudEvents about what happens to Sandboxes (default: nowhere)
  --cloudevents-secret-file F
                         secret that signs them, in the form of Standard Webhooks: whsec_ and base64 of 24 bytes or more.
                         While it is replaced, a second line holds the other one
  --cloudevents-source S URI that names this cluster in each event (default /hookbox)
`;

/** Reads the values; undefined: nobody is told. @throws {RangeError} if one makes no sense */
export function readCloudEvents(values: Record<keyof typeof OPTIONS, string>): CloudEventsOptions | undefined {
  const { "cloudevents-url": url, "cloudevents-secret-file": secretFile, "cloudevents-source": source } = values;
  if (url === "" && secretFile === "") return undefined;
  if (url === "") throw new RangeError("Cannot send CloudEvents: --cloudevents-secret-file needs --cloudevents-url");
  if (secretFile === "") {
    throw new RangeError("Cannot send CloudEvents: --cloudevents-url needs --cloudevents-secret-file");
  }
  if (!isReceiver(url)) {
    throw new RangeError("Cannot send CloudEvents: --cloudevents-url must be an http or https URL without a password");
  }
  if (source === "" || /\s/.test(source) || !URL.canParse(source, "http://cluster")) {
    throw new RangeError(`Cannot send CloudEvents from "${source}": it is not a URI`);
  }
  return { url, secretFile, source };
}

/** `fetch` takes none with a password. */
function isReceiver(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}
