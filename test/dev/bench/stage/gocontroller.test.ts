/** @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { goControllers, readGoControllerCRDs } from "../../../../dev/bench/stage/gocontroller.ts";
import { makeTempFolder } from "../../../tempfolder.ts";

const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sandboxes.agents.x-k8s.io }
spec:
  group: agents.x-k8s.io
  conversion: { strategy: Webhook, webhook: { conversionReviewVersions: [v1] } }
`;

test("readGoControllerCRDs() reads every CRD of the folder, without the webhook that converts", () => {
  const folder = makeTempFolder();
  writeFileSync(join(folder, "b.yaml"), CRD);
  writeFileSync(join(folder, "a.yaml"), "kind: Namespace\n");
  writeFileSync(join(folder, "README.md"), "none");
  expect(readGoControllerCRDs(folder).map((text) => JSON.parse(text))).toEqual([{
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "sandboxes.agents.x-k8s.io" },
    spec: { group: "agents.x-k8s.io" },
  }]);
});

test("goControllers() refuses before any cluster starts: no CRDs, no controller", () => {
  const folder = makeTempFolder();
  for (const without of [folder, join(folder, "none")]) {
    expect(() => readGoControllerCRDs(without)).toThrow(
      `Cannot run the Go controller: there are no CRDs in ${without}`,
    );
  }
  writeFileSync(join(folder, "crd.yaml"), CRD);
  for (const binary of [folder, join(folder, "none"), join(folder, "crd.yaml")]) {
    expect(() => goControllers(binary, folder)).toThrow(`Cannot run the Go controller: ${binary} is not a program`);
  }
});
