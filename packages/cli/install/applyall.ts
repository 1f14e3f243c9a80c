/** Applies all that an installation consists of, in order, and says what becomes of each. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Api } from "../../kube/api.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure, verdictOf } from "../failure.ts";
import { type ApplyOptions, createApplier, nameOf } from "./apply.ts";

/** What all others need. */
const FIRST = ["Namespace", "CustomResourceDefinition"];

/**
 * Applies Namespaces and CRDs, and then the rest if all of them were taken; what is refused is said.
 *
 * @returns whether all were applied
 * @throws {Error} if the API server does not answer
 */
export async function applyAll(
  { stdout, stderr, signal }: CommandContext,
  api: Api,
  objects: readonly KubeObject[],
  options: ApplyOptions,
): Promise<boolean> {
  const apply = createApplier(api, options);
  const applyEach = async (some: readonly KubeObject[]) => {
    let isDone = true;
    for (const object of some) {
      try {
        stdout.write(`${nameOf(object)} ${await apply(object)}${options.dryRun ? " (dry run)" : ""}\n`);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        isDone = false;
        for (const line of verdictOf(error).lines) stderr.write(`${line}\n`);
      }
      signal.throwIfAborted();
    }
    return isDone;
  };
  const isFirst = ({ kind }: KubeObject) => FIRST.includes(kind);
  if (await applyEach(objects.filter(isFirst))) return await applyEach(objects.filter((one) => !isFirst(one)));
  stderr.write("Nothing else was applied: it needs these namespaces and CRDs.\n");
  return false;
}
