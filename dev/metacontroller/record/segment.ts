/** Divides the requests of a Metacontroller process with one worker into syncs. @module */
import type { Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Exchange, HookCall } from "./traffic.ts";
import type { Request } from "./transcript.ts";

/** A request of a sync, with its number in the recording, and when it arrived. */
export type NumberedRequest = Request & { number: number; at: number };

/** Requests in their order, and the hook call between them. */
export interface Cut {
  before: NumberedRequest[];
  call: HookCall;
  after: NumberedRequest[];
  /** Whether the last request of a complete sync is included. A decorator has no request that it always sends. */
  isWhole: boolean;
}

/** The parents and children of a controller, as in URLs: `<apiVersion>/<plural>`. */
interface Concern {
  composite: boolean;
  parents: string[];
  children: string[];
}

/** The syncs, and the requests at the end that no hook call follows. */
interface Cuts {
  cuts: Cut[];
  left: NumberedRequest[];
}

/**
 * Divides requests and hook calls into syncs.
 *
 * Before the hook call, both types of controllers write a finalizer and claim children. Only these requests begin with
 * a read. The end of what follows the call depends on the type:
 *
 * | controller | a sync after its call |
 * |---|---|
 * | composite | if the answer requires it, a read and a write of the parent for the finalizer; writes of children; a read of the parent, and a write of its status, both repeated after each conflict |
 * | decorator | writes of the parent and then of attachments; the next read begins another sync |
 */
export function cutSyncs(requests: Exchange[], calls: HookCall[], concern: Concern): Cuts {
  const all = [...requests.flatMap((exchange) => requestOf(exchange, concern)), ...calls]
    .sort((a, b) => a.number - b.number);
  const cuts: Cut[] = [];
  let before: NumberedRequest[] = [];
  let open: Open | undefined;
  for (const item of all) {
    if ("controller" in item) {
      const cut: Cut = { before, call: item, after: [], isWhole: !concern.composite };
      cuts.push(cut);
      before = [];
      open = openAfter(cut, concern);
    } else if (before.length === 0 && open?.takes(item)) cuts.at(-1)?.after.push(item);
    else {
      open = undefined;
      before.push(item);
    }
  }
  return { cuts, left: before };
}

interface Open {
  takes(request: NumberedRequest): boolean;
}

function openAfter(cut: Cut, { composite, parents }: Concern): Open | undefined {
  const { call } = cut;
  if (call.status !== 200) return undefined;
  const isParent = ({ apiVersion, plural }: NumberedRequest) => parents.includes(`${apiVersion}/${plural}`);
  if (!composite) return { takes: ({ verb }) => verb !== "get" };
  const { name } = (call.body?.["parent"] as KubeObject).metadata;
  let reads = call.answer?.["finalized"] === true ? 2 : 1;
  let mayWrite = false;
  return {
    takes(request) {
      if (!isParent(request)) return request.verb !== "get" && reads > 0;
      if (request.name !== name) return false;
      if (request.verb === "get") {
        mayWrite = reads > 0;
        cut.isWhole = reads === 1;
        return reads-- > 0;
      }
      if (!mayWrite) return false;
      if (request.refusal?.status === 409) reads++;
      mayWrite = false;
      return true;
    },
  };
}

const VERBS: Record<string, Request["verb"]> = { GET: "get", POST: "create", PUT: "update", DELETE: "delete" };

/** Converts an exchange to a request about a parent or child. Returns none if it is about anything else, or a list. */
function requestOf({ number, at, method, path, body, status, answer }: Exchange, concern: Concern): NumberedRequest[] {
  const match =
    /^\/apis?\/(?<apiVersion>[^/]+(?:\/v[^/]+)?)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<sub>status))?$/
      .exec(path);
  const { apiVersion = "", namespace, plural = "", name, sub } = match?.groups ?? {};
  const key = `${apiVersion}/${plural}`;
  const verb = VERBS[method];
  const isParent = concern.parents.includes(key);
  if (!verb || !(isParent || concern.children.includes(key)) || (method === "GET" && name === undefined)) return [];
  const ok = status < 300;
  const isRead = method === "GET" || (isParent && method !== "DELETE");
  const { reason = "", message = "" } = (answer ?? {}) as { reason?: string; message?: string };
  return [{
    ...{
      number,
      at,
      verb: sub ? "updateStatus" : verb,
      apiVersion,
      plural,
      ...(namespace !== undefined && { namespace }),
    },
    name: name ?? (body as unknown as KubeObject).metadata.name,
    ...(body !== undefined && { body }),
    ...(ok && isRead && { answer: answer as unknown as KubeObject }),
    ...(!ok && { refusal: { status, reason, message } }),
  }];
}

/** Returns the parents and children of a controller. */
export function concernOf({ kind, ...controller }: KubeObject): Concern {
  interface Rule {
    apiVersion: string;
    resource: string;
  }
  const spec = controller["spec"] as Record<string, Rule | Rule[] | undefined> & Json;
  const keys = (rules: Rule | Rule[] | undefined) =>
    [rules ?? []].flat().map(({ apiVersion, resource }) => `${apiVersion}/${resource}`);
  const composite = kind === "CompositeController";
  return {
    composite,
    parents: keys(composite ? spec["parentResource"] : spec["resources"]),
    children: keys(composite ? spec["childResources"] : spec["attachments"]),
  };
}
