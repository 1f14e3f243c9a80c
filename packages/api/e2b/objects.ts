/** What hookbox stores on Kubernetes about sandboxes, templates and projects of E2B's clients. @module */
import * as z from "zod";

/** Label on claims that E2B's clients have created: `true`. */
export const E2B_LABEL = "e2b.agents.x-k8s.io/sandbox";
/**
 * Annotation on pools and templates: the names by which E2B's clients find them, separated by commas, each with or
 * without `:tag`. Without it, they are found by their own name.
 */
export const ALIASES_ANNOTATION = "e2b.agents.x-k8s.io/aliases";
/** Annotation on claims: what E2B's clients asked for, as JSON ({@link createdSchema}). */
export const CREATED_ANNOTATION = "e2b.agents.x-k8s.io/created";
/** Annotation on claims: the client's metadata, as a JSON object of texts. */
export const METADATA_ANNOTATION = "e2b.agents.x-k8s.io/metadata";
/** Annotation on claims: when the client paused the sandbox (RFC 3339). Absent: it is not paused. */
export const PAUSED_AT_ANNOTATION = "e2b.agents.x-k8s.io/paused-at";
/** Annotation on claims of sandboxes that are paused at their timeout: when that is (RFC 3339). */
export const END_AT_ANNOTATION = "e2b.agents.x-k8s.io/end-at";
/** Label on namespaces that are projects of E2B's clients: `true`. */
export const PROJECT_LABEL = "e2b.agents.x-k8s.io/project";
/** Name of the Secret with the hashes of a project's API keys, in the project's namespace. */
export const KEYS_SECRET = "hookbox-e2b-keys";

/** Value of {@link CREATED_ANNOTATION}: what does not change in the life of a sandbox. */
export const createdSchema = z.object({
  /** Name of the pool or template. */
  template: z.string(),
  /** The name that the client used, without namespace and tag. */
  alias: z.string(),
  /** In seconds. */
  timeout: z.number(),
  cpuCount: z.number(),
  memoryMB: z.number(),
  diskSizeMB: z.number(),
  /** Whether files survive a pause: a volume has them. */
  keepsFiles: z.boolean(),
  /** What happens at the end of its time. */
  onTimeout: z.enum(["kill", "pause"]),
  /** SHA-256 of the request's body, if it had an Idempotency-Key. */
  request: z.string().optional(),
});

/** What an E2B client asked for when it created a sandbox. */
export type CreatedFacts = z.infer<typeof createdSchema>;

/** What an API key allows: `read` to list and look, `connect` to use and resume, `create` to create, change and end. */
export const RIGHTS = ["create", "connect", "read"] as const;
export type Right = typeof RIGHTS[number];

const SHA256 = /^[0-9a-f]{64}$/;

/** An entry of {@link KEYS_SECRET}, as JSON. Its key in the Secret is the name of the API key. */
const keyEntrySchema = z.object({
  /** SHA-256 of the key, in hexadecimal digits. */
  sha256: z.string().regex(SHA256),
  rights: z.array(z.enum(RIGHTS)),
  /** RFC 3339. */
  createdAt: z.iso.datetime({ offset: true }),
  /** RFC 3339; absent: never, as far as hookbox knows. */
  lastUsedAt: z.iso.datetime({ offset: true }).optional(),
  /** The key that this one has replaced, which works until a time. */
  replaced: z.object({
    sha256: z.string().regex(SHA256),
    /** RFC 3339. */
    until: z.iso.datetime({ offset: true }),
    lastUsedAt: z.iso.datetime({ offset: true }).optional(),
  }).optional(),
});

/** What is stored of an API key. */
export type KeyEntry = z.infer<typeof keyEntrySchema>;

/** Returns the key that this one has replaced, if it still works. @param now in milliseconds since the epoch */
export function replacedKey({ replaced }: KeyEntry, now: number): KeyEntry["replaced"] {
  return replaced && now < Date.parse(replaced.until) ? replaced : undefined;
}

/**
 * Reads the API keys of a project: each name with its entry, sorted by name. Undefined: it is not an entry, and nobody
 * can use this key.
 *
 * @param data the field `data` of {@link KEYS_SECRET}, in base64
 */
export function keyEntriesOf(
  data: Readonly<Record<string, string>> = {},
): [name: string, entry: KeyEntry | undefined][] {
  return Object.entries(data)
    .map(([name, value]): [string, KeyEntry | undefined] => [name, keyEntryOf(value)])
    .sort(([a], [b]) => a < b ? -1 : 1);
}

function keyEntryOf(base64: string): KeyEntry | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return keyEntrySchema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data;
  } catch {
    return undefined;
  }
}

/** What the dashboard shows of an API key. Without the other fields: its entry cannot be read. */
export interface ShownKey extends Partial<Omit<KeyEntry, "sha256" | "replaced">> {
  name: string;
}
