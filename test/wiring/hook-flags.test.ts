/** The flags of the command line reach the hooks that are served. @module */
import { expect, test } from "vitest";
import { makeHooks } from "../../hooks/all.ts";
import { settingsOf } from "../hooksettings.ts";
import { aPoolRequest } from "../poolcalls.ts";
import { send } from "../runtime/servers.ts";
import { aChild, aReadyPod, aRequest, aSandbox } from "../sandboxes.ts";
import { serve } from "./servedhooks.ts";

test("what the command line says reaches the hooks", async () => {
  const flags = ["--cluster-domain", "c.example", "--max-batch-size", "2"];
  const { port } = await serve(makeHooks([], settingsOf(...flags)), false, ...flags);
  const sandbox = JSON.parse(
    (await send(port, "POST", "/sandbox/sync", {
      body: JSON.stringify(aRequest(aSandbox({ spec: { service: true } }), [
        aReadyPod(),
        aChild("Service", { spec: { clusterIP: "None" } }),
      ])),
    })).text,
  );
  expect(sandbox.status.serviceFQDN).toBe("demo.team-a.svc.c.example");
  const pool = JSON.parse(
    (await send(port, "POST", "/sandboxwarmpool/sync", { body: JSON.stringify(aPoolRequest()) })).text,
  );
  expect(pool.children).toHaveLength(2);
});

test("the domains of labels that claims may add are those of the command line", () => {
  const domainsOf = (...flags: string[]) => settingsOf(...flags).allowedLabelDomains;
  expect(domainsOf()).toEqual(["sandbox.users.io"]);
  expect(domainsOf("--allowed-label-domains", "a.example, b.example,")).toEqual(["a.example", "b.example"]);
});
