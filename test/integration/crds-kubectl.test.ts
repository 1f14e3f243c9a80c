/** The CRDs on a real API server: what kubectl shows and finds, and how it scales. @module */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BLUEPRINT, claim, pool, sandbox, template } from "../api/samples.ts";
import { begin, cluster, collection, create, end, namespace, patch, send, TABLE, writeStatus } from "./crds-world.ts";
import { run } from "./kubectl.ts";

beforeAll(begin);
afterAll(end);

describe("kubectl get", () => {
  const ready = {
    type: "Ready",
    status: "False",
    reason: "PodFailed",
    message: "",
    lastTransitionTime: "2026-01-02T03:04:05Z",
  };
  const cases = [
    {
      object: sandbox(BLUEPRINT, { conditions: [ready] }),
      want: { Name: "row", Ready: "False", Reason: "PodFailed" },
    },
    {
      object: claim({ warmPoolRef: { name: "p" } }, { conditions: [ready], sandbox: { name: "given" } }),
      want: { Name: "row", Ready: "False", Sandbox: "given", Reason: "PodFailed" },
    },
    {
      object: pool({ sandboxTemplateRef: { name: "t" }, replicas: 4 }, { readyReplicas: 3 }),
      want: { Name: "row", Ready: 3, Desired: 4 },
    },
  ];
  test.for(cases)("shows the columns of $object.kind", async ({ object, want }) => {
    await create(object, "row");
    const { body } = await writeStatus(object, "row", TABLE);
    const headers = body.columnDefinitions.map((column: { name: string }) => column.name);
    const { Age, ...shown } = Object.fromEntries(
      headers.map((name: string, at: number) => [name, body.rows[0].cells[at]]),
    );
    expect(Age).toEqual(expect.any(String));
    expect(shown).toEqual(want);
  });

  test("finds the kinds by short name and by the category agents", async () => {
    const objects = [
      sandbox(BLUEPRINT),
      claim({ warmPoolRef: { name: "none" } }),
      template(BLUEPRINT),
      pool({ sandboxTemplateRef: { name: "none" } }),
    ];
    for (const object of objects) await create(object, "listed");
    const get = async (what: string) => {
      const which = ["-n", namespace, "--field-selector", "metadata.name=listed", "-o", "name"];
      return (await run(cluster, ["get", what, ...which])).trim().split("\n");
    };
    const names = [
      "sandbox.agents.x-k8s.io/listed",
      "sandboxclaim.extensions.agents.x-k8s.io/listed",
      "sandboxtemplate.extensions.agents.x-k8s.io/listed",
      "sandboxwarmpool.extensions.agents.x-k8s.io/listed",
    ];
    expect(await get("sbx,sbxc,sbxt,swp")).toEqual(names);
    expect(await get("sandbox,sandboxclaim,sandboxtemplate,swp")).toEqual(names);
    expect((await get("agents")).sort()).toEqual(names);
  });
});

test("kubectl scale sets a pool's replicas", async () => {
  const object = pool({ sandboxTemplateRef: { name: "none" } });
  await create(object, "scaled");
  const { body } = await patch(object, "scaled/scale", { spec: { replicas: 5 } });
  expect(body).toMatchObject({ kind: "Scale", spec: { replicas: 5 } });
  expect((await send("GET", `${collection(object)}/scaled`)).body.spec.replicas).toBe(5);
});
