/** Which users may name Secrets in the headers of a claim: the admission policy asks about the author of the claim. @module */
import { expect, test } from "vitest";
import { readClaimHeaders } from "../../packages/api/egress/policy.ts";
import { claimAuthors, USERS } from "./claimauthors.ts";

const withHeaders = (text: string | undefined) => ({ "agents.x-k8s.io/egress-headers": text });
const { create, make, patch } = claimAuthors("claimheaders.yaml", withHeaders("a.example x=mine/key"));

const MANY = (count: number) => Array.from({ length: count }, (_, i) => `a.example x-${i}=mine/key`).join();

test.for<[string, string | undefined, string[]]>([
  ["no Secret", undefined, USERS],
  ["the Secret of some", "a.example x-key=mine/key", ["all", "some"]],
  ["it, with a scheme", "*.a.example:8443 Authorization=Bearer mine/key", ["all", "some"]],
  ["two keys of it", "a.example x=mine/key, b.example x=Bearer mine/other", ["all", "some"]],
  ["another Secret", "a.example x=other/key", ["all"]],
  ["another Secret, with a scheme that is the name of theirs", "a.example x=mine other/key", ["all"]],
  ["the Secret of some, and another", "a.example x=mine/key,a.example y=other/key", ["all"]],
  ["as many as are allowed", MANY(8), ["all", "some"]],
  ["more", MANY(9), []],
  ["eight, the last one from another Secret", `${MANY(7)},b.example x=Bearer other/key`, ["all"]],
  ["an empty text", "", []],
  ["an empty entry", "a.example x=mine/key,", []],
  ["two blanks", "a.example x=Bearer  mine/key", []],
  ["a line break", "a.example x=mine/key\nb.example x=other/key", []],
  ["a second slash", "a.example x=mine/other/key", []],
  ["a second equals sign", "a.example x=mine/key=other/key", []],
  ["a second equals sign before", "a.example x=y=mine/key", []],
  ["a slash in the host", "a/b x=mine/key", []],
  ["two schemes", "a.example x=A B mine/key", []],
  ["no host", "x=mine/key", []],
])("a claim whose headers name %s is accepted from those who may read them", async ([, headers, allowed]) => {
  for (const user of USERS) {
    const created = create(user, withHeaders(headers)).then(() => "accepted", (error) => String(error));
    const want = allowed.includes(user)
      ? "accepted"
      : expect.stringMatching(/may not read a Secret|8 entries|not HOST HEADER=/);
    expect([user, await created]).toEqual([user, want]);
  }
  if (headers !== undefined) expect(typeof readClaimHeaders(headers)).toBe(allowed.length > 0 ? "object" : "string");
});

test("who may not read them cannot change which Secrets a claim names, nor which hosts get their values", async () => {
  await make(withHeaders("a.example x=mine/key"));
  const name = (text: string | null) => ({ metadata: { annotations: { "agents.x-k8s.io/egress-headers": text } } });
  expect(await patch("none", { metadata: { labels: { a: "b" } } })).toBe("done");
  expect(await patch("none", name("a.example x=other/key"))).toContain("may not read a Secret");
  expect(await patch("none", name("evil.example x=mine/key"))).toContain("may not read a Secret");
  expect(await patch("some", name("a.example x=other/key"))).toContain("may not read a Secret");
  expect(await patch("some", name("b.example x=mine/key"))).toBe("done");
  expect(await patch("none", name(null))).toBe("done");
  expect(await patch("none", name("b.example x=mine/key"))).toContain("may not read a Secret");
});
