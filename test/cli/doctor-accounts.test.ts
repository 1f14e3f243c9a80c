/** What `hookbox doctor` reports about the rights of hookbox's own accounts. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Api } from "../../packages/kube/api.ts";
import { isGranted, type Process, rulesOf } from "../rights.ts";
import { fakeApi, listOf, run } from "./fakecontext.ts";
import { engine, fetch, sound } from "./soundcluster.ts";

interface Review {
  spec?: { user?: string; resourceAttributes: Record<string, string | undefined> };
}

const DEPLOYMENTS = "GET /apis/apps/v1/deployments";
const runs = (name: string, namespace = "hookbox-system") => ({
  ...{ metadata: { name, namespace }, spec: { template: { spec: { serviceAccountName: name } } } },
});
const RIGHTS =
  parse(readFileSync(new URL("../../deploy/metacontroller/rights.yaml", import.meta.url), "utf8"))[0].value;

/** Asks doctor on a cluster whose accounts have what deploy/ gives them, but for some. */
async function examined(
  lacks: (account: string, right: string) => boolean,
  { namespace = "hookbox-system", status = 201 } = {},
) {
  const accounts = [
    runs("hookbox-keeper", namespace),
    runs("hookbox-binder", namespace),
    runs("hookbox-router", "agent-sandbox-system"),
    runs("hookbox-e2b", "agent-sandbox-system"),
    runs("hookbox-hooks", namespace),
  ];
  const pod = engine("--client-go-qps=1000");
  const inMetacontroller = {
    ...pod,
    metadata: { ...pod.metadata, namespace: "metacontroller" },
    spec: { ...pod.spec, serviceAccountName: "metacontroller" },
  };
  const answers = {
    ...sound(),
    [DEPLOYMENTS]: listOf("apps/v1", "Deployment", ...accounts),
    "GET /api/v1/pods": listOf("v1", "Pod", inMetacontroller),
  };
  const api = fakeApi(answers);
  const asked = new Set<string>();
  const send: Api["send"] = (request) => {
    const { spec } = (request.body ?? {}) as Review;
    if (spec?.user === undefined) return api.send(request);
    const [, , home = "", name = ""] = spec.user.split(":");
    asked.add(`${home}/${name}`);
    const { verb = "", group = "", resource, subresource, name: of } = spec.resourceAttributes;
    const right = {
      verb,
      group,
      resource: subresource ? `${resource}/${subresource}` : resource ?? "",
      ...(of === undefined ? {} : { name: of }),
    };
    const rules = name === "metacontroller" ? RIGHTS : rulesOf(name.replace("hookbox-", "") as Process);
    const allowed = isGranted(rules, right) && !lacks(name, `${verb} ${right.resource}`);
    return Promise.resolve({ status, body: status === 201 ? { status: { allowed } } : { message: "you may not ask" } });
  };
  const { code, stdout } = await run("doctor --router http://r", { api: { ...api, send }, fetch });
  const lines = stdout.split("\n");
  return {
    code,
    asked,
    lines: lines.flatMap((line, i) => line.includes(" Rights of hookbox ") ? [`${line}\n${lines[i + 1]}`] : []),
  };
}

test("accounts that have what deploy/ gives them are well, wherever they are", async () => {
  const { code, lines, asked } = await examined(() => false, { namespace: "mine" });
  expect(lines.map((line) => line.split("\n")[0])).toEqual([
    expect.stringMatching(
      /^✓ Rights of hookbox +complete: hookbox-keeper, hookbox-binder, hookbox-router, hookbox-e2b, metacontroller$/,
    ),
  ]);
  expect(code).toBe(0);
  const routers = ["agent-sandbox-system/hookbox-e2b", "agent-sandbox-system/hookbox-router"];
  const others = [...routers, "metacontroller/metacontroller"];
  expect([...asked].sort()).toEqual([...others, "mine/hookbox-binder", "mine/hookbox-keeper"].sort());
});

test.for([
  [
    "hookbox-binder",
    "get sandboxtemplates",
    "get sandboxtemplates.extensions.agents.x-k8s.io",
    "hookbox install --apply",
  ],
  [
    "hookbox-binder",
    "update sandboxclaims/status",
    "update sandboxclaims.extensions.agents.x-k8s.io/status",
    "hookbox install --apply",
  ],
  ["hookbox-keeper", "list deployments", "list deployments.apps", "hookbox install --apply"],
  ["hookbox-router", "patch sandboxes", "patch sandboxes.agents.x-k8s.io", "hookbox install --apply"],
  ["metacontroller", "create pods", "create pods", "deploy/metacontroller"],
])("%s without %s: that right is named, and what to do", async ([account = "", right, words = "", remedy = ""]) => {
  const { code, lines } = await examined((who, what) => who === account && what === right);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^✗ /);
  expect(lines[0]).toContain(`${account} may not ${words}\n`);
  expect(lines[0]).toContain(remedy);
  expect(code).toBe(1);
});

test("a user without the right to ask gets a message about that, and no finding", async () => {
  const { code, lines } = await examined(() => false, { status: 403 });
  expect(lines[0]).toMatch(/^! Rights of hookbox +cannot be checked: you may not ask/);
  expect(code).toBe(0);
});
