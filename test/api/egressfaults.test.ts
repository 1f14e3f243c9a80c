/** What is wrong with the rules of the egress proxy, in words, from the annotations alone. @module */
import { expect, test } from "vitest";
import { faultsOfRules, type RulesOwner, type SecretKeys, secretsOf } from "../../packages/api/egress/faults.ts";
import { EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../../packages/api/objects/keys.ts";

interface Texts {
  allow?: string;
  headers?: string;
}

function owner(kind: string, { allow, headers }: Texts): RulesOwner {
  const annotations = {
    ...allow === undefined ? {} : { [EGRESS_ALLOW_ANNOTATION]: allow },
    ...headers === undefined ? {} : { [EGRESS_HEADERS_ANNOTATION]: headers },
  };
  return { ref: { kind, namespace: "team-a", name: kind === "SandboxClaim" ? "session" : "web" }, annotations };
}

const faults = (template: Texts, claim?: Texts, keysOf: (secret: string) => SecretKeys = () => ["key"]) =>
  faultsOfRules(owner("SandboxTemplate", template), claim && owner("SandboxClaim", claim), keysOf);
const said = (...args: Parameters<typeof faults>) =>
  faults(...args).map(({ object, where, text }) => `${object.kind} ${/\[.*-(\w+)\]/.exec(where)?.[1]}: ${text}`);
const HEADER = "api.example Authorization=Bearer example/key";

test("rules without a fault, and no rules at all", () => {
  expect(faults({})).toEqual([]);
  expect(faults({}, {})).toEqual([]);
  expect(faults({ allow: "pypi.org, 10.0.0.0/8", headers: HEADER }, { allow: "pypi.org" })).toEqual([]);
});

test.each<[string, Texts, Texts | undefined, string | RegExp]>([
  [
    "an entry that is no host",
    { allow: "pypi.org, https://x.example" },
    undefined,
    /^SandboxTemplate allow: annotation .*egress-allow of SandboxTemplate web: "https:\/\/x.example" is not a host name/,
  ],
  [
    "a header without a Secret",
    { allow: "pypi.org", headers: "api.example Authorization" },
    undefined,
    /^SandboxTemplate headers: .* "api.example Authorization" is not HOST HEADER=SECRET\/KEY/,
  ],
  [
    "a header that a proxy must not set",
    { headers: "api.example Host=example/key" },
    undefined,
    /^SandboxTemplate headers: .* names a header that a proxy must not set$/,
  ],
  ["a claim with an invalid entry", { allow: "*" }, { allow: "exa mple" }, /^SandboxClaim allow: .*"exa mple" is not/],
  [
    "a claim with headers",
    { allow: "*" },
    { allow: "pypi.org", headers: HEADER },
    /^SandboxClaim headers: SandboxClaim session has annotation .*-headers, but SandboxTemplate .* does not allow it: .*"Allowed"$/,
  ],
  [
    "a claim whose template has no rules",
    {},
    { allow: "pypi.org" },
    /^SandboxTemplate allow: SandboxTemplate web has neither annotation/,
  ],
  [
    "a claim that wants more than its template",
    { allow: "pypi.org" },
    { allow: "pypi.org, evil.example" },
    'SandboxClaim allow: "evil.example" is not reached, because SandboxTemplate web does not allow it',
  ],
])("%s", (_, template, claim, words) => {
  const found = said(template, claim);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(words);
});

test.each<[string, Texts, boolean]>([
  ["files.pypi.org", { allow: "*.pypi.org" }, true],
  ["*.pypi.org", { allow: "files.pypi.org" }, true],
  ["*", { allow: "pypi.org" }, true],
  ["pypi.org", { allow: "*.pypi.org" }, false],
  ["pypi.org:443", { allow: "pypi.org" }, true],
  ["pypi.org:8443", { allow: "pypi.org" }, false],
  ["api.example", { headers: HEADER }, true],
  ["api.example:80", { headers: HEADER }, false],
  ["10.1.2.3", { allow: "10.1.0.0/16" }, true],
  ["10.0.0.0/8", { allow: "10.1.0.0/16" }, true],
  ["10.2.0.0/16", { allow: "10.1.0.0/16" }, false],
  ["10.1.2.3", { allow: "*" }, false],
])("%s of a claim, with %j: %s", (allow, template, isAllowed) => {
  expect(faults(template, { allow }).length === 0).toBe(isAllowed);
});

test("a Secret or a key that is missing, and one that could not be read", () => {
  expect(said({ headers: HEADER }, undefined, () => null)).toEqual([
    "SandboxTemplate headers: requests to api.example get header Authorization from Secret example, which does not exist: they are refused",
  ]);
  expect(said({ headers: HEADER }, undefined, () => ["other"])).toEqual([
    "SandboxTemplate headers: requests to api.example get header Authorization from Secret example, which has no key key: they are refused",
  ]);
  expect(said({ headers: HEADER }, undefined, () => undefined)).toEqual([]);
  expect(secretsOf(owner("SandboxTemplate", { headers: `${HEADER}, b.example x=example/other, c.example x=two/key` })))
    .toEqual(["example", "two"]);
});
