/** The store as Metacontroller meets it in this weather. @module */
import { type Resource, type Store, StoreError, type WatchHandler } from "../../packages/testing/store/store.ts";
import { findByName, type MemoryStore } from "../../packages/testing/store/memory.ts";
import type { Surroundings } from "./surroundings.ts";
import { createView } from "./views.ts";
import { pause, touch } from "./weather.ts";

/** Wraps a store; its watches are one process's own. Events are dropped. */
export function weatheredStore(store: MemoryStore, { weather, notice, isDead }: Surroundings): Store {
  const { clock } = store;
  const write = async <T>(verb: string, resource: Resource, name: string, act: () => Promise<T>): Promise<T> => {
    const { delayMs, outcome } = weather.request("engine");
    await pause(clock, delayMs);
    if (isDead()) throw new StoreError(500, "InternalError", "weather: killed");
    if (outcome === "refused") throw new StoreError(500, "InternalError", "weather: refused");
    const find = () => findByName(store, resource.kind, name);
    if (outcome === "touched") await touch(store, find());
    // Of children every change wakes the parent: only a claim can change unnoticed.
    const before = find();
    const answer = act();
    notice(before, find(), verb, "engine");
    const result = await answer;
    if (outcome === "lost") throw new StoreError(500, "InternalError", "weather: lost");
    return result;
  };
  const isEvent = ({ kind }: Resource) => kind === "Event";
  return {
    ...store,
    async get(resource, namespace, name) {
      await pause(clock, weather.request("engine").delayMs);
      if (isDead()) throw new StoreError(500, "InternalError", "weather: killed");
      return await store.get(resource, namespace, name);
    },
    watch(resource, handler) {
      const { apiVersion, kind } = resource;
      const relist = () => {
        const objects = store.objects(apiVersion, kind);
        view.deliver(() => handler.replace(objects));
      };
      const view = createView({ clock, weather, kind, of: "engine", relist });
      const late: WatchHandler = {
        replace: (objects) => view.deliver(() => handler.replace(objects)),
        changed: (object) => view.show(() => handler.changed(object)),
        deleted: (object) => view.show(() => handler.deleted(object)),
      };
      const end = store.watch(resource, late);
      return () => {
        view.end();
        end();
      };
    },
    create: (resource, object) =>
      isEvent(resource)
        ? Promise.resolve(object)
        : write("create", resource, object.metadata.name, () => store.create(resource, object)),
    update: (resource, object) =>
      isEvent(resource)
        ? Promise.resolve(object)
        : write("update", resource, object.metadata.name, () => store.update(resource, object)),
    updateStatus: (resource, object) =>
      write("updateStatus", resource, object.metadata.name, () => store.updateStatus(resource, object)),
    delete: (resource, namespace, name, options) =>
      write("delete", resource, name, () => store.delete(resource, namespace, name, options)),
  };
}
