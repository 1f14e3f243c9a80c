/** Objects of all kinds that somebody tampered with, and one namespace in which all is well. @module */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sandboxSchema } from "../../../packages/api/sandbox.ts";
import { sandboxClaimSchema } from "../../../packages/api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../../packages/api/sandboxwarmpool.ts";
import { poolStatus } from "../../../packages/cli/pool/status.ts";
import { why } from "../../../packages/api/diagnosis/why.ts";
import { isObject } from "../../../packages/api/objects/json.ts";
import { controllerReference, type KubeObject } from "../../../packages/api/objects/objects.ts";
import { readFacts } from "../../../packages/sdk/control/facts.ts";
import { aClaim, aMember, aPool } from "../../pools.ts";
import fc, { runs } from "../../properties.ts";
import { aReadyPod, aSandbox, NOW } from "../../sandboxes.ts";
import { aTemplate } from "../../templates.ts";
import { changed, changes } from "../changes.ts";
import { corpus } from "../corpus.ts";
import { CANARY, plant } from "../secrets.ts";
import { KINDS, pathOf, type Said, sayOf, type Shown, shown } from "../worlds.ts";

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

/** Every object of our kinds in the requests of hooks. */
function objectsIn(value: unknown): KubeObject[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  const isOurs = isObject(value) && KINDS.includes(String(value["kind"])) && isObject(value["metadata"]);
  return isOurs ? [value as KubeObject] : inner;
}

const CORPUS = corpus("hooks").filter(({ name }) => !name.includes("/found-")).flatMap(({ text }) =>
  objectsIn(JSON.parse(text))
);

const ready = {
  conditions: [{
    type: "Ready",
    status: "True",
    reason: "DependenciesReady",
    message: "",
    lastTransitionTime: "2026-11-21T11:00:00Z",
  }],
};
const GOOD: Shown[] = [
  shown("SandboxTemplate", "good", "python", aTemplate()),
  shown("SandboxWarmPool", "good", "warm", aPool({ status: { replicas: 1, readyReplicas: 1 } })),
  shown("SandboxClaim", "good", "job", aClaim("job")),
  shown("Sandbox", "good", "warm-1", aMember(1, { status: ready })),
  shown(
    "Sandbox",
    "good",
    "late",
    aSandbox({ spec: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Delete" } }),
  ),
  shown("Sandbox", "good", "demo", aSandbox({ status: ready })),
  shown("Pod", "good", "demo", { ...aReadyPod(), metadata: { ownerReferences: [controllerReference(aSandbox())] } }),
].map((each) => JSON.parse(JSON.stringify(each).replaceAll('"team-a"', '"good"')) as Shown);

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** One object, changed once, and perhaps once more while it is watched. */
const tampered = fc.record({
  at: fc.nat(CORPUS.length - 1),
  donor: fc.nat(CORPUS.length - 1),
  first: changes,
  then: fc.option(changes, { nil: undefined }),
});

type Tampered = {
  at: number;
  donor: number;
  first: Parameters<typeof changed>[1];
  then: Tampered["first"] | undefined;
};

function madeOf({ at, donor, first, then }: Tampered, number: number): { before: Shown; after: Shown | undefined } {
  const { kind } = CORPUS[at]!;
  const make = (list: Tampered["first"]) => {
    const value = changed(CORPUS[at], list, CORPUS[donor]);
    plant(value);
    return shown(kind, "bad", `bad-${number}`, value);
  };
  return { before: make(first), after: then && make(then) };
}

const SCHEMAS = [sandboxSchema, sandboxClaimSchema, sandboxWarmPoolSchema, sandboxTemplateSchema];

function isAdmitted(object: unknown): boolean {
  return SCHEMAS.some((schema) => schema.safeParse(object).success);
}

/** Reads of what is well as SDK and command do, and makes the table of all pools, which is of what a CRD has admitted. */
async function readAll({ api }: Said, objects: readonly Shown[]): Promise<string[]> {
  const codes: string[] = [];
  for (const { kind, namespace, name } of GOOD) {
    if (kind !== "Sandbox" && kind !== "SandboxClaim" && kind !== "SandboxWarmPool") continue;
    codes.push(why(await readFacts(api, { kind, namespace, name }), NOW).code);
  }
  for (const each of objects) if (!isAdmitted(api.get(pathOf(each)))) api.remove(pathOf(each));
  const rows = await poolStatus(api, undefined);
  return [...codes, JSON.stringify(rows.filter(({ namespace }) => namespace === "good"))];
}

/** An event handler that throws is its own fault, and stays that. */
const FAULTS = /Watch interrupted/;

test("10,000 objects that somebody tampered with: no watch breaks, and nothing else is said of what is well", async () => {
  const alone = await sayOf("good", GOOD, [], pass);
  const codes = await readAll(alone, GOOD);
  expect(alone.ofNamespace.length).toBeGreaterThan(8);
  expect(alone.lines.filter((line) => FAULTS.test(line))).toEqual([]);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(tampered, { minLength: 1, maxLength: 100, size: "max" }), async (list) => {
      const made = list.map(madeOf);
      count += made.length;
      const before = [...GOOD, ...made.map((each) => each.before)];
      vi.setSystemTime(NOW);
      const said = await sayOf("good", before, made.flatMap(({ after }) => after ?? []), pass);
      expect(said.lines.filter((line) => FAULTS.test(line))).toEqual([]);
      expect(said.lines.filter((line) => line.includes(CANARY))).toEqual([]);
      expect(said.ofNamespace).toEqual(alone.ofNamespace);
      expect(await readAll(said, before)).toEqual(codes);
    }),
    { numRuns: runs(260) },
  );
  expect(count).toBeGreaterThan(runs(10_000));
});
