/** Plays the keeper: deletes claims that have expired, and sees to Sandboxes that get no Pod. @module */
import { sandboxClaimSchema } from "../../api/sandboxclaim.ts";
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import { claimExpiryVerdict } from "../../keeper/expiry.ts";
import type { KubeObject } from "../../lib/objects.ts";
import { API_OF, findObject, removeObject } from "./api.ts";
import { touch } from "./weather.ts";

/** How long a Pod may be missing before the keeper looks for the cause, and between its looks. */
const LOOK_MS = 1000;

/** Starts it. */
export async function startKeeper(store: MemoryStore): Promise<void> {
  await follow(store, "SandboxClaim", (claim) => expire(store, claim));
  const looking = new Set<string>();
  await follow(store, "Sandbox", ({ metadata: { uid = "", name } }) => {
    if (looking.has(uid)) return;
    looking.add(uid);
    const look = () => {
      const live = findObject(store, "Sandbox", name);
      if (live?.metadata.uid !== uid) return;
      if (!findObject(store, "Pod", name)) void touch(store, live);
      store.clock.setTimeout(look, LOOK_MS);
    };
    store.clock.setTimeout(look, LOOK_MS);
  });
}

async function follow(store: MemoryStore, kind: string, see: (object: KubeObject) => void): Promise<void> {
  const resource = await store.kind(API_OF[kind] ?? "", kind);
  store.watch(resource, { replace: (objects) => objects.forEach(see), changed: see, deleted: () => {} });
}

function expire(store: MemoryStore, claim: KubeObject): void {
  const live = findObject(store, "SandboxClaim", claim.metadata.name);
  if (!live || live.metadata.uid !== claim.metadata.uid) return;
  const verdict = claimExpiryVerdict(sandboxClaimSchema.parse(live), store.clock.now());
  if (verdict.verdict === "wait") {
    store.clock.setTimeout(() => expire(store, claim), verdict.until - store.clock.now());
  }
  if (verdict.verdict === "delete") void removeObject(store, live, verdict.propagation);
}
