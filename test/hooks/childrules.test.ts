/** The child rules of every hook match those of its controller's manifest. @module */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { childRules as ofSandboxes } from "../../hooks/sandbox/childrules.ts";
import { childRules as ofClaims } from "../../hooks/sandboxclaim/childrules.ts";
import { childRules as ofTemplates } from "../../hooks/sandboxtemplate/childrules.ts";
import { childRules as ofPools } from "../../hooks/sandboxwarmpool/childrules.ts";
import { DEFAULT_SETTINGS, hookNames, makeHooks } from "../../hooks/all.ts";
import { type ChildRules, unexpectedStrategy } from "../../packages/webhook/childrules.ts";
import { aRequest, aSandbox, NOW } from "../sandboxes.ts";

const RULES: Record<string, ChildRules<never>> = {
  sandbox: ofSandboxes,
  sandboxclaim: ofClaims,
  sandboxtemplate: ofTemplates({ deniedEgressCidrs: [] }),
  sandboxwarmpool: ofPools({ templateNetworkPolicy: "required" }),
};

interface Rule {
  apiVersion: string;
  resource: string;
  updateStrategy?: { method: string };
}
interface Controller {
  metadata: { name: string };
  spec: { childResources?: Rule[]; attachments?: Rule[] };
}

function manifest(name: string): Controller {
  for (const folder of ["compositecontrollers", "decoratorcontrollers"]) {
    const place = new URL(`../../${folder}/`, import.meta.url);
    if (readdirSync(place).includes(`${name}.yaml`)) return parse(readFileSync(new URL(`${name}.yaml`, place), "utf8"));
  }
  throw new RangeError(`Cannot read the manifest of ${name}: there is none`);
}

const rulesOf = ({ spec }: Controller) => [...(spec.childResources ?? []), ...(spec.attachments ?? [])];

test.for(hookNames)("%s has a rule for each kind of child, with its update strategy", (name) => {
  const controller = manifest(name);
  const declared = Object.entries(RULES[name] ?? {}).map((
    [key, { resource, updateStrategy }],
  ) => [key.slice(key.indexOf(".") + 1), resource, updateStrategy]);
  expect(declared.sort()).toEqual(
    rulesOf(controller).map((
      { apiVersion, resource, updateStrategy },
    ) => [apiVersion, resource, updateStrategy?.method])
      .sort(),
  );
  expect(unexpectedStrategy({ controller }, RULES[name] ?? {})).toBeUndefined();
});

test.for(["Recreate", "RollingRecreate", "RollingInPlace", "OnDelete"])(
  "no hook answers a controller that updates its children by %s instead",
  (method) => {
    for (const name of hookNames) {
      const controller = manifest(name);
      const [rule] = rulesOf(controller).filter(({ updateStrategy }) => updateStrategy?.method === "InPlace");
      rule!.updateStrategy = { method };
      expect(unexpectedStrategy({ controller }, RULES[name] ?? {}), name).toMatch(`by ${method}, not by InPlace`);
    }
    const controller = manifest("sandbox");
    controller.spec.childResources!.find(({ resource }) => resource === "pods")!.updateStrategy = { method };
    const [hook] = makeHooks(["sandbox"], DEFAULT_SETTINGS);
    expect(hook!.sync({ ...aRequest(aSandbox()), controller }, NOW)).toMatchObject({
      refusal: { message: `the controller updates pods by ${method}, not by InPlace as its manifest says` },
    });
  },
);
