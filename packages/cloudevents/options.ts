/** Defines the keeper's options for CloudEvents. @module */
import { flag, type FlagType, TEXT, type Values } from "../process/flags.ts";

/** Where to send CloudEvents, and which source they name. */
export interface CloudEventsOptions {
  url: string;
  secretFile: string;
  /** `source` of each event: names the cluster. */
  source: string;
}

/** `fetch` accepts no URL with a password. An empty text means that no URL is set. */
const RECEIVER: FlagType<string> = {
  ...{ name: "URL", placeholder: "URL", allowed: "an http or https URL without a password", isSecret: true },
  read(text, refuse) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isReceiver = url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    return isReceiver || text === "" ? text : refuse();
  },
};

const SOURCE: FlagType<string> = {
  ...{ name: "URI", placeholder: "S", allowed: "a URI, absolute or not, such as //cluster-1" },
  read: (text, refuse) => text !== "" && !/\s/.test(text) && URL.canParse(text, "http://cluster") ? text : refuse(),
};

const since = "0.3.0";

export const CLOUDEVENTS_FLAGS = {
  "cloudevents-url": flag(RECEIVER, {
    help: "URL to which CloudEvents about Sandboxes are sent",
    ...{ since, otherwise: "nowhere", needs: ["cloudevents-secret-file"] },
  }),
  "cloudevents-secret-file": flag(TEXT, {
    help:
      "secret that signs them, in the form of Standard Webhooks: whsec_ and base64 of 24 bytes or more. While it is " +
      "replaced, a second line holds the other one",
    ...{ since, placeholder: "F", needs: ["cloudevents-url"] },
  }),
  "cloudevents-source": flag(SOURCE, {
    help: "URI that identifies this cluster in each event",
    ...{ since, default: "/hookbox" },
  }),
};

/** Returns the options; undefined: no CloudEvents are sent. */
export function cloudEventsOf(values: Values<typeof CLOUDEVENTS_FLAGS>): CloudEventsOptions | undefined {
  const { cloudeventsUrl: url, cloudeventsSecretFile: secretFile, cloudeventsSource: source } = values;
  return url && secretFile ? { url, secretFile, source } : undefined;
}
