/**
 * Shows the API keys of a project to the dashboard. Pages never get the Secret itself: it has the hashes of the keys, and
 * its annotations can have all of its contents.
 * @module
 */
import * as z from "zod";
import { keyEntriesOf, KEYS_SECRET, type ShownKey } from "../../api/e2b/objects.ts";
import { readJson } from "../../api/objects/json.ts";
import type { Incoming } from "../../kube/transport.ts";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import type { Refusal } from "../refusal.ts";

/** Path of the Secret. Nothing may follow it: parameters would change the answer, and a slash would name another object. */
const PATH = new RegExp(`^/api/v1/namespaces/[a-z0-9](?:[-a-z0-9]*[a-z0-9])?/secrets/${KEYS_SECRET}$`);
/** In bytes. A key takes about 350, and Secrets have at most a mebibyte. */
const MOST_BYTES = 256 * 1024;
const TOO_LONG: Refusal = { status: 502, detail: `Secret ${KEYS_SECRET} is too large to be shown.` };
const UNREADABLE: Refusal = { status: 502, detail: `Secret ${KEYS_SECRET} cannot be read.` };

const secretSchema = z.object({
  kind: z.literal("Secret"),
  metadata: z.object({ name: z.literal(KEYS_SECRET) }),
  data: z.record(z.string(), z.string()).optional(),
});

/** Tells whether a request is for the API keys of a project. @param path with its query */
export function isForKeys(method: string, path: string): boolean {
  return method === "GET" && PATH.test(path);
}

/**
 * Takes the place of the API server's answer with the Secret: `{"keys": […]}`, a list of {@link ShownKey}, sorted by
 * name. Errors, such as that the user may not read the Secret, are returned as they are.
 */
export async function shownKeys({ status, chunks }: Passed): Promise<Passed | Refusal> {
  if (status >= 400) return { status, chunks };
  const body = createByteBuffer();
  for await (const chunk of chunks) {
    if (body.size() + chunk.byteLength > MOST_BYTES) return TOO_LONG;
    body.add(chunk);
  }
  const { data: secret } = secretSchema.safeParse(readJson(body.takeText()));
  if (status !== 200 || !secret) return UNREADABLE;
  const keys = keyEntriesOf(secret.data).map(([name, entry]): ShownKey => {
    if (!entry) return { name };
    const { rights, createdAt, lastUsedAt } = entry;
    return { name, rights, createdAt, ...lastUsedAt === undefined ? {} : { lastUsedAt } };
  });
  return { status, chunks: once(new TextEncoder().encode(JSON.stringify({ keys }))) };
}

type Passed = Pick<Incoming, "status" | "chunks">;

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
