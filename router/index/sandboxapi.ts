/** Reads and patches one Sandbox, and shows the answer to the index, which is sooner than the watch. Decides nothing. @module */
import { type Answer, type Api, isOk, pathOf } from "../../kube/api.ts";
import { readSandbox } from "./records.ts";
import type { SandboxIndex } from "./sandboxindex.ts";

/** Who is asked, and who is shown the answer. */
export interface Shown {
  api: Api;
  index: SandboxIndex;
}

interface Ref {
  namespace: string;
  name: string;
}

/** Reads the Sandbox. @throws if nobody answers */
export async function getSandbox(shown: Shown, ref: Ref): Promise<Answer> {
  return await send(shown, "GET", ref);
}

/** Merges `body` into the Sandbox. @throws if nobody answers */
export async function patchSandbox(shown: Shown, ref: Ref, body: object): Promise<Answer> {
  return await send(shown, "PATCH", ref, body);
}

async function send(
  { api, index }: Shown,
  method: "GET" | "PATCH",
  { namespace, name }: Ref,
  body?: object,
): Promise<Answer> {
  const path = pathOf({ resource: "sandboxes", namespace, name });
  const answer = await api.send({ method, path, ...(body ? { body } : {}) });
  const sandbox = isOk(answer) ? readSandbox(answer.body) : undefined;
  if (sandbox) index.sandboxes.observe(sandbox);
  return answer;
}
