/** A keeper at work on a fake API server, which a test can kill and start again. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { Api } from "../../packages/kube/api.ts";
import { keep } from "../../packages/keeper/keep.ts";
import type { Action } from "../../packages/keeper/reconciler.ts";
import { UNLIMITED } from "../../packages/process/deletionbudget.ts";
import { aSandbox } from "../sandboxes.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { underRole } from "../rights.ts";

const CORE = "/api/v1/namespaces/team-a";
export const SANDBOX = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes/demo";
export const POD = `${CORE}/pods/demo`;
export const SERVICE = `${CORE}/services/demo`;
export const PVC = `${CORE}/persistentvolumeclaims/home-demo`;

/** Later than any test goes on, so that no Sandbox is woken for having waited long for its Pod. */
const NOT_YET = "2026-11-22T12:00:00Z";

/** A keeper; `kill` ends it as SIGKILL would: nothing of what it asks for arrives any more. */
export interface Keeper {
  actions: Action[];
  kill(): void;
}

/** Starts a keeper. All times are those of the fake clock. */
export function startKeeper(
  server: FakeApi,
  parameters: { log?: (line: string) => void; hooksNamespace?: string } = {},
): Keeper {
  const end = new AbortController();
  const actions: Action[] = [];
  const alive = <T>(promise: Promise<T>): Promise<T> => end.signal.aborted ? new Promise(() => {}) : promise;
  const held = underRole<Api>({ send: (request) => server.send(request), watch: server.watch }, "keeper");
  const api: Api = {
    send: async (request) => await alive(end.signal.aborted ? new Promise<never>(() => {}) : held.send(request)),
    watch: (path, query) => alive(held.watch(path, query)),
  };
  const log = (_: string, message: string) => parameters.log?.(message);
  const allowedLabelDomains = ["sandbox.users.io"];
  const reportFor = () => (action: Action) => actions.push(action);
  const { hooksNamespace } = parameters;
  void keep(api, { allowedLabelDomains, log, reportFor, budget: UNLIMITED, hooksNamespace }, end.signal);
  return { actions, kill: () => end.abort() };
}

/** Puts the Sandbox `demo` on the server, with Ready as given (status, reason, message). */
export function putSandbox(
  server: FakeApi,
  ready: [string, string, string],
  over: { spec?: object; metadata?: object; status?: object; suspended?: string } = {},
): Sandbox {
  const [status, reason, message] = ready;
  const { suspended, ...rest } = over;
  const time = { lastTransitionTime: NOT_YET };
  const conditions = [
    { type: "Ready", status, reason, message, ...time },
    ...(suspended ? [{ type: "Suspended", status: suspended, reason: "PodTerminated", message: "", ...time }] : []),
  ];
  const sandbox = aSandbox({ ...rest, status: { conditions, ...over.status } });
  return server.put(SANDBOX, { ...sandbox }) as unknown as Sandbox;
}

/** Returns what the annotation of `demo` says; undefined: there is none. */
export function unresolvedOf(server: FakeApi): unknown {
  const text = server.get(SANDBOX)?.metadata.annotations?.["agents.x-k8s.io/unresolved"];
  return text === undefined ? undefined : JSON.parse(text);
}
