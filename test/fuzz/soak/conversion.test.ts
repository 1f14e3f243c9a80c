/** Reviews of the conversion hook, and what becomes of them when somebody tampers with them. @module */
import { expect, test } from "vitest";
import { createConversionApp } from "../../../hooks/conversion/app.ts";
import { createLog } from "../../../packages/process/log.ts";
import fc, { runs } from "../../properties.ts";
import { changed, changes } from "../changes.ts";
import { CANARY, plant } from "../secrets.ts";
import { garbled, garbling, seldom } from "../texts.ts";

const CORE = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";
const state = (kind: string) => `api.agents.x-k8s.io/v1alpha1-${kind}-state`;
const env = [{ name: "TOKEN", value: "hush" }];
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox", env }] } };
const metadata = (annotations: object) => ({ name: "it", namespace: "team-a", uid: "uid-it", annotations });

const OBJECTS = [
  { kind: "Sandbox", metadata: metadata({}), spec: { podTemplate, replicas: 0 }, status: { podIPs: ["10.0.0.1"] } },
  {
    kind: "Sandbox",
    metadata: metadata({ [state("sandbox")]: '{"spec":{"replicas":1}}' }),
    spec: { podTemplate, operatingMode: "Running", service: true },
  },
  {
    kind: "SandboxClaim",
    metadata: metadata({ [state("sandboxclaim")]: '{"spec":{"warmpool":"none"}}' }),
    spec: { warmPoolRef: { name: "shadow-pool-t" }, sandboxTemplateRef: { name: "t" }, env },
    status: { sandbox: { name: "pool-abc" } },
  },
  {
    kind: "SandboxTemplate",
    metadata: metadata({ "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy": "Allowed" }),
    spec: { podTemplate },
  },
  { kind: "SandboxWarmPool", metadata: metadata({}), spec: { sandboxTemplateRef: { name: "t" }, replicas: 3 } },
];
const REVIEWS = OBJECTS.flatMap((object) =>
  [["v1alpha1", "v1beta1"], ["v1beta1", "v1alpha1"]].map(([from, to]) => {
    const group = object.kind === "Sandbox" ? CORE : EXTENSIONS;
    const objects = [{ apiVersion: `${group}/${from}`, ...object }, { apiVersion: `${group}/${from}`, ...object }];
    const request = { uid: "ask-1", desiredAPIVersion: `${group}/${to}`, objects };
    return { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request };
  })
);

const tampered = fc.record({
  review: fc.constantFrom(...REVIEWS),
  donor: fc.constantFrom(...REVIEWS),
  changes,
  garbling: seldom(20, garbling),
}).map(({ review, donor, ...done }) => {
  const request = changed(review, done.changes, donor);
  plant(request);
  const text = JSON.stringify(request) ?? "";
  return done.garbling ? garbled(text, done.garbling) : text;
});

const lines: string[] = [];
const app = createConversionApp({ log: createLog("debug", (line) => lines.push(line)), ready: () => true });

test("10,000 reviews that somebody tampered with: no crash, all objects or none, no secret told", async () => {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(tampered, async (body) => {
      lines.length = 0;
      const answer = await app.request("/convert", { method: "POST", body });
      expect([200, 400]).toContain(answer.status);
      const text = await answer.text();
      const { result, convertedObjects } = answer.status === 200 ? JSON.parse(text).response : {};
      const isDone = result?.status === "Success";
      if (answer.status === 200) {
        expect(convertedObjects).toHaveLength(isDone ? JSON.parse(body).request.objects.length : 0);
      }
      if (!isDone) expect(`${text}${lines.join("")}`).not.toContain(CANARY);
      seen[isDone ? "done" : answer.status] = (seen[isDone ? "done" : answer.status] ?? 0) + 1;
    }),
    { numRuns: runs(10_000) },
  );
  // A fuzzer whose requests are all refused at the door tries nothing.
  for (const outcome of ["done", "200", "400"]) expect(seen[outcome]).toBeGreaterThan(runs(200));
});
