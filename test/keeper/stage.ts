/** A keeper that a test lets run for a while on a fake clock, and what it asks the fake API server for. @module */
import { vi } from "vitest";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { type Keeper, startKeeper } from "./keeping.ts";

/** Ready of a Sandbox: status, reason, message. */
export const NO_POD: [string, string, string] = ["False", "DependenciesNotReady", "Pod does not exist"];
export const READY: [string, string, string] = ["True", "DependenciesReady", "Pod is Ready"];
/** Metadata of a child that the Sandbox `demo` controls. */
export const OURS = {
  labels: { "controller-uid": "uid-demo" },
  ownerReferences: [{ apiVersion: "v1", kind: "Sandbox", name: "demo", uid: "uid-demo", controller: true }],
};
/** A spec with one volume, `home-demo`. */
export const VOLUMES = { volumeClaimTemplates: [{ metadata: { name: "home" }, spec: {} }] };

/** The server and the keeper of the test that runs. */
export let server: FakeApi;
export let keeper: Keeper;

/** For beforeEach: stops the clock, and makes a server. */
export function begin(): void {
  vi.useFakeTimers({ now: NOW });
  server = createFakeApi();
}

/** For afterEach: ends the keeper. */
export function end(): void {
  keeper.kill();
  vi.useRealTimers();
}

/** Starts the keeper on what is there, and lets `seconds` go by. */
export async function keep(seconds: number, parameters: Parameters<typeof startKeeper>[1] = {}): Promise<void> {
  keeper = startKeeper(server, parameters);
  await pass(seconds);
}

export async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

/** Reports a failed sync of an object in namespace team-a, as Metacontroller does. */
export function failSync(kind: string, name: string, uid: string, words: string): void {
  server.put("/api/v1/namespaces/team-a/events/refused", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "refused", namespace: "team-a" },
    involvedObject: { kind, namespace: "team-a", name, uid },
    reason: "SyncError",
    message: `Sync error: can't reconcile children for ${kind} team-a/${name}: ${words}`,
    lastTimestamp: new Date(Date.now()).toISOString(),
  });
}

/** Requests but the lists that watches begin with. */
export function requests(): ApiRequest[] {
  return server.requests.filter(({ query }) => query?.["limit"] === undefined || query["labelSelector"] !== undefined);
}

/** Requests but lists, in short. */
export function asked(): string[] {
  const short = ({ method, path, query }: ApiRequest) =>
    `${method} ${path.split("/").slice(-2).join("/")}${query?.["dryRun"] ? " dry" : ""}`;
  return requests().map(short);
}
