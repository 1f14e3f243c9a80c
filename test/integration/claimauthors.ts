/** Users who may create claims, and read all Secrets, some or none, under a policy that asks about the author of a claim. @module */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { fileURLToPath } from "node:url";
import { until } from "../eventually.ts";
import { run } from "./kubectl.ts";
import { aClaim } from "./pools.ts";
import { shared } from "./shared.ts";

/** Those that are undefined are left out. */
type Annotations = Record<string, string | undefined>;

/** `some` may read the Secret `mine`. */
export const USERS = ["all", "some", "none"];

/**
 * Prepares a namespace with the users before the tests of a file, and deletes it afterwards.
 *
 * @param policy name of a file in deploy/binder
 * @param refused annotations of a claim that the policy refuses from `none`
 */
export function claimAuthors(policy: string, refused: Annotations) {
  const namespace = `claim-authors-${randomUUID().slice(0, 8)}`;
  const kubectl = async (args: string[], input?: string) => {
    return await run(await shared("bare"), ["-n", namespace, ...args], input);
  };
  const as = (user: string) => ["--as", `system:serviceaccount:${namespace}:${user}`];
  const claimOf = (name: string, annotations: Annotations) => {
    const claim = aClaim(name, "p") as { metadata: object };
    return JSON.stringify({ ...claim, metadata: { ...claim.metadata, annotations } });
  };
  /** Asks whether a user may create a claim with these annotations. @throws {Error} if not */
  const create = (user: string, annotations: Annotations) =>
    kubectl([...as(user), "create", "--dry-run=server", "-f", "-"], claimOf("c", annotations));

  beforeAll(async () => {
    const cluster = await shared("bare");
    await run(cluster, ["apply", "-f", fileURLToPath(new URL(`../../deploy/binder/${policy}`, import.meta.url))]);
    await run(cluster, ["create", "namespace", namespace]);
    const claims = ["--verb=create,get,patch,update", "--resource=sandboxclaims.extensions.agents.x-k8s.io"];
    await kubectl(["create", "role", "claims", ...claims]);
    await kubectl(["create", "role", "all", "--verb=get", "--resource=secrets"]);
    await kubectl(["create", "role", "some", "--verb=get", "--resource=secrets", "--resource-name=mine"]);
    for (const user of USERS) {
      await kubectl(["create", "serviceaccount", user]);
      const account = `--serviceaccount=${namespace}:${user}`;
      await kubectl(["create", "rolebinding", `${user}-claims`, "--role=claims", account]);
      if (user !== "none") await kubectl(["create", "rolebinding", user, `--role=${user}`, account]);
    }
    // The API server enforces a new policy a moment later.
    await until(() => create("none", refused).then(() => false, () => true));
  });
  afterAll(() => kubectl(["delete", "namespace", namespace, "--wait=false"]));

  return {
    create,
    /** Creates the claim `made` as an administrator. */
    make: (annotations: Annotations) => kubectl(["create", "-f", "-"], claimOf("made", annotations)),
    /** Changes the claim `made` as a user. Resolves with `done`, or the text of the error. */
    patch: (user: string, body: object) =>
      kubectl([...as(user), "patch", "sandboxclaim", "made", "--type=merge", "-p", JSON.stringify(body)])
        .then(() => "done", (error) => String(error)),
  };
}
