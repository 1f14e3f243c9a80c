/** Resources that a claim asks for: what is read of its text, what the template allows, and what the container then has. @module */
import type { V1Container } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import {
  claimAmounts,
  describeResources,
  firstResources,
  hasResources,
  resourcesProblem,
  restartsFor,
  withAmounts,
} from "../../../packages/api/claims/resources.ts";
import { quantity } from "../../../packages/api/objects/quantity.ts";
import { aClaim } from "../../pools.ts";
import fc from "../../properties.ts";
import { aTemplate } from "../../templates.ts";

const BOUNDS = "cpu=250m..4,memory=256Mi..8Gi";
const asking = (text: string) => aClaim("c", { metadata: { annotations: { "agents.x-k8s.io/resources": text } } });
const allowing = (text: string) =>
  aTemplate({ metadata: { annotations: { "agents.x-k8s.io/claim-resources": text } } });
const problem = (text: string, bounds = BOUNDS) => resourcesProblem(asking(text), allowing(bounds));

test.for<[string, object]>([
  ["cpu=2", { cpu: 2000 }],
  ["cpu=1.5", { cpu: 1500 }],
  ["cpu=250m,memory=256Mi", { cpu: 250, memory: 268_435_456 }],
  ["memory=1.5Gi,cpu=4", { cpu: 4000, memory: 1_610_612_736 }],
  ["memory=1G", { memory: 1_000_000_000 }],
  ["memory=300000000", { memory: 300_000_000 }],
])("claimAmounts() reads %s", ([text, want]) => {
  expect(claimAmounts(asking(text))).toEqual(want);
  expect(problem(text)).toBeUndefined();
});

test.for([
  ...["", ",", "cpu", "cpu=", "cpu=2,", ",cpu=2", "cpu=2,cpu=2", "cpu=2, memory=4Gi", " cpu=2", "CPU=2", "cpu=2\n"],
  ...["cpu=-1", "cpu=+1", "cpu=0", "cpu=0m", "cpu=0.0001", "cpu=1e0", "cpu=1e99", "cpu=NaN", "cpu=Infinity", "cpu=2k"],
  ...[
    "cpu=0x2",
    "cpu=2=2",
    "cpu=1..2",
    "cpu=9999999",
    "memory=-1Gi",
    "memory=1e9",
    "memory=1Ei",
    "memory=1gi",
    "memory=4",
  ],
  ...["memory=512m", "memory=999999Ti", `memory=${"9".repeat(100)}`, `cpu=${"0".repeat(10_000)}1`, "nvidia.com/gpu=1"],
  ...["cpu=2,nvidia.com/gpu=1", "ephemeral-storage=1Gi", "__proto__=1", "toString=1", "cpu=٢"],
])("a claim that asks for %j gets none", (text) => {
  expect(problem(text)?.reason).toBe("InvalidConfiguration");
  expect(problem(text)?.message.length).toBeLessThan(400);
});

test.for([
  ["cpu=249m", "allows cpu from 250m to 4; the claim asks for 249m"],
  ["cpu=4001m", "allows cpu from 250m to 4; the claim asks for 4001m"],
  ["memory=9Gi", "allows memory from 256Mi to 8Gi; the claim asks for 9Gi"],
  ["cpu=1,memory=255Mi", "the claim asks for 255Mi"],
  ["cpu=lots", '"cpu=lots" is neither cpu=AMOUNT nor memory=AMOUNT'],
])("the problem of %s says what is allowed", ([text, words]) => {
  expect(problem(text as string)?.message).toContain(words);
});

test("a claim gets only what its template names, and nothing from a template without bounds", () => {
  expect(resourcesProblem(asking("cpu=1"), aTemplate())?.message).toBe(
    'SandboxTemplate "python" does not let claims set their resources',
  );
  expect(problem("cpu=1,memory=1Gi", "cpu=1..2")?.message).toContain("does not let claims set their memory");
  expect(resourcesProblem(aClaim("c"), aTemplate())).toBeUndefined();
  expect(claimAmounts(aClaim("c"))).toBeUndefined();
  for (
    const bounds of ["", "cpu=1", "cpu=1..", "cpu=..2", "cpu=1..2..3", "cpu=2..1", "gpu=1..2", "cpu=1..2,cpu=1..9"]
  ) {
    expect([bounds, problem("cpu=1", bounds)?.reason]).toEqual([bounds, "InvalidConfiguration"]);
  }
});

const of = (resources: object | undefined): V1Container => ({ name: "main", ...(resources ? { resources } : {}) });
const after = (resources: object | undefined, amounts: object) =>
  withAmounts({ containers: [of(resources), of({ limits: { cpu: "1" } })] }, amounts).containers;

test.for<[string, object | undefined, object]>([
  ["a limit and a request keep their ratio", { limits: { cpu: "1" }, requests: { cpu: "250m" } }, {
    limits: { cpu: "2" },
    requests: { cpu: "500m" },
  }],
  ["equal ones stay equal", { limits: { cpu: 1 }, requests: { cpu: "1000m" } }, {
    limits: { cpu: "2" },
    requests: { cpu: "2" },
  }],
  ["only a limit", { limits: { cpu: "1" } }, { limits: { cpu: "2" }, requests: { cpu: "2" } }],
  ["only a request", { requests: { cpu: "1" } }, { requests: { cpu: "2" } }],
  ["neither", undefined, { requests: { cpu: "2" } }],
  ["a request of none", { limits: { cpu: "1" }, requests: { cpu: "0" } }, {
    limits: { cpu: "2" },
    requests: { cpu: "0" },
  }],
  ["others stay", { limits: { cpu: "1", "nvidia.com/gpu": "1" }, claims: [{ name: "d" }] }, {
    limits: { cpu: "2", "nvidia.com/gpu": "1" },
    requests: { cpu: "2" },
    claims: [{ name: "d" }],
  }],
])("withAmounts(): %s", ([, before, want]) => {
  const [first, second] = after(before, { cpu: 2000 });
  expect(first?.resources).toEqual(want);
  expect(second).toEqual(of({ limits: { cpu: "1" } }));
});

/** The quality of service class of one container. Source: k8s.io/kubernetes pkg/apis/core/v1/helper/qos, 1.36. */
function qosOf({ resources }: V1Container): string {
  const { requests = {}, limits = {} } = resources ?? {};
  const above = (map: Record<string, string>) => ["cpu", "memory"].filter((one) => quantity(`${map[one] ?? 0}`) > 0);
  if (above(requests).length + above(limits).length === 0) return "BestEffort";
  const isSame = ["cpu", "memory"].every((one) =>
    above(limits).includes(one) && quantity(`${requests[one] ?? limits[one]}`) === quantity(`${limits[one]}`)
  );
  return isSame ? "Guaranteed" : "Burstable";
}

const cpu = fc.integer({ min: 1, max: 64_000 }).map((milli) => `${milli}m`);
const memory = fc.integer({ min: 1, max: 2 ** 40 }).map(String);
const amounts = fc.record({ cpu: fc.integer({ min: 2, max: 64_000 }), memory: fc.integer({ min: 2, max: 2 ** 45 }) });
/** What a template may have of a resource; null: nothing. No request is more than its limit. */
const pair = (value: fc.Arbitrary<string>) =>
  fc.tuple(fc.option(value), fc.option(value)).map(([one, other]) => {
    if (one === null || other === null) return { request: one, limit: other };
    const [request, limit] = [one, other].sort((a, b) => quantity(a) - quantity(b));
    return { request, limit };
  });

test("withAmounts() keeps the quality of service class, and gives each limit its amount and no request more", () => {
  fc.assert(fc.property(pair(cpu), pair(memory), amounts, (cpus, memories, wanted) => {
    const map = (part: "request" | "limit") =>
      Object.fromEntries(
        [["cpu", cpus[part]], ["memory", memories[part]]].filter(([, value]) => typeof value === "string"),
      ) as Record<string, string>;
    const before = of({ requests: map("request"), limits: map("limit") });
    fc.pre(qosOf(before) !== "BestEffort");
    const [first] = withAmounts({ containers: [before] }, wanted).containers;
    expect(qosOf(first as V1Container)).toBe(qosOf(before));
    const { requests = {}, limits = {} } = first?.resources ?? {};
    for (const [resource, amount] of [["cpu", wanted.cpu / 1000], ["memory", wanted.memory]] as const) {
      if (map("limit")[resource] === undefined) expect(quantity(requests[resource] as string)).toBeCloseTo(amount, 9);
      else expect(quantity(limits[resource] as string)).toBeCloseTo(amount, 9);
      expect(quantity(requests[resource] as string)).toBeLessThanOrEqual(amount * (1 + 1e-9));
    }
  }));
});

test("what the container gets is the amount that its claim asks for, exactly, in whatever unit", () => {
  fc.assert(fc.property(amounts, (wanted) => {
    const { containers: [first] } = withAmounts(
      { containers: [of({ limits: { cpu: "1", memory: "1Gi" } })] },
      wanted,
    );
    const { cpu, memory } = first?.resources?.limits ?? {};
    expect([Math.round(1000 * quantity(`${cpu}`)), quantity(`${memory}`)]).toEqual([wanted.cpu, wanted.memory]);
  }));
  expect(describeResources(firstResources({ containers: after({ limits: { cpu: "1" } }, { cpu: 1500 }) }))).toBe(
    "cpu=1500m",
  );
});

test("restartsFor() goes by the resources that change", () => {
  const containers = [{ name: "main", resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] }];
  expect([restartsFor({ containers }, { cpu: 1 }), restartsFor({ containers }, { memory: 1 })]).toEqual([false, true]);
  expect(restartsFor({ containers: [of(undefined)] }, { cpu: 1, memory: 1 })).toBe(false);
});

test.for<[string, object | undefined, boolean]>([
  ["the same", { requests: { cpu: "500m", memory: "2Gi" }, limits: { cpu: "2", memory: "4Gi" } }, true],
  [
    "another way to write it",
    { requests: { cpu: ".5", memory: "2048Mi" }, limits: { cpu: 2, memory: "4096Mi" } },
    true,
  ],
  [
    "what a runtime has rounded",
    { requests: { cpu: "499m", memory: "2Gi" }, limits: { cpu: "2", memory: "4Gi" } },
    true,
  ],
  ["the limit of before", { requests: { cpu: "500m", memory: "2Gi" }, limits: { cpu: "2", memory: "1Gi" } }, false],
  ["no limits", { requests: { cpu: "500m", memory: "2Gi" } }, false],
  ["nothing", undefined, false],
])("hasResources() of a status with %s: %s", ([, actual, want]) => {
  const resources = { requests: { cpu: "500m", memory: "2Gi" }, limits: { cpu: "2", memory: "4Gi" } };
  expect(hasResources(actual, { name: "main", resources })).toBe(want);
});
