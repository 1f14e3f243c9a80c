/** A memory store with kinds to play with, and verbs for tests of it. @module */
import { createMemoryStore, type MemoryStoreOptions } from "../../../packages/testing/store/memory.ts";
import type { StoreError } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { aCrd, API, aThing } from "./world.ts";

/** Makes a store of Things and Parts; `owned` makes a Part with owners, `settle` lets what is due happen. */
export async function storeWith(options: MemoryStoreOptions = {}) {
  const store = createMemoryStore(options);
  for (
    const crd of [aCrd("Thing"), aCrd("Part"), aCrd("Plain", { status: false }), aCrd("Wide", { namespaced: false })]
  ) await store.put(crd);
  const things = await store.kind(API, "Thing");
  const parts = await store.kind(API, "Part");
  const get = (name: string) => store.get(things, "ns", name);
  const owned = (name: string, owners: KubeObject[], rest: object = {}) =>
    store.create(
      parts,
      aThing(name, {
        metadata: {
          ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid = "" } }) => ({
            apiVersion,
            kind,
            name,
            uid,
            blockOwnerDeletion: true,
            ...rest,
          })),
        },
      }, "Part"),
    );
  const settle = () => store.clock.advance(0);
  const names = (kind = "Part") => store.objects(API, kind).map(({ metadata }) => metadata.name);
  return { store, things, parts, get, owned, settle, names };
}

/** Returns how a request was refused, such as `409 Conflict`; `none` if it was not. */
export const failure = (promise: Promise<unknown>) =>
  promise.then(() => "none", ({ status, reason }: StoreError) => `${status} ${reason}`);
