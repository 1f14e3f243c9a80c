/** Short words for tests of a CompositeController whose parent is the Thing `t`. @module */
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { API, poked, type World } from "./world.ts";

export const status = (world: World): unknown => world.find(API, "Thing", "t")?.["status"];
/** Has `t` synced once more. */
export const poke = (world: World): Promise<void> => world.edit(API, "Thing", "t", poked);
/** Events that say what went wrong. */
export const events = (world: World): KubeObject[] =>
  world.store.objects("v1", "Event").filter((event) => event["reason"] === "SyncError");
