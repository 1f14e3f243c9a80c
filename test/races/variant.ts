/** What a run may have in other forms than the product's: how races that were mended are put back. @module */
import type { Store } from "../../packages/testing/store/store.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import type { MemoryApi } from "../../packages/testing/api/memoryapi.ts";

/** Each takes the product's part and returns what runs in its place; absent: the product's. */
export interface Variant {
  /** By name of the hook. */
  hooks?: Record<string, (calls: HookCalls) => HookCalls>;
  /** The store as Metacontroller meets it. */
  store?: (store: Store) => Store;
  binderApi?: (api: MemoryApi) => MemoryApi;
  keeperApi?: (api: MemoryApi) => MemoryApi;
}
