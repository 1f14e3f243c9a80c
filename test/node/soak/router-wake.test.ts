/**
 * Many requests for many suspended Sandboxes, through two routers: each is woken once, and all are answered. Thirty of
 * them here, a hundred by `npm run soak`. @module
 */
import process from "node:process";
import { describe, expect, inject, test } from "vitest";
import { until } from "../../integration/kubectl.ts";
import { type Loose, makeNamespace } from "../../integration/namespace.ts";
import { startRouter } from "../router.ts";
import { isReady, routers as annotationOf } from "../runtimepods.ts";
import { askAll, makeSuspended, tally } from "../routerload.ts";
import { hasRealNode } from "../../integration/suite.ts";

const SANDBOXES = inject("isSoak") ? 100 : 30;
const EACH = 10;

describe.runIf(hasRealNode)("waking many at once", () => {
  test(`${SANDBOXES * EACH} requests wake ${SANDBOXES} Sandboxes once each, and all get their answer`, {
    timeout: 900_000,
  }, async () => {
    const ns = await makeNamespace();
    const args = ["--wake-timeout", "10m", "--response-header-timeout", "10m"];
    const routers = [await startRouter(...args), await startRouter(...args)];
    const names = await makeSuspended(ns, SANDBOXES);
    const sum = async (metric: string) => {
      const values = await Promise.all(routers.map((router) => router.metric(metric)));
      return values.reduce((total, value) => total + value, 0);
    };

    const startedAt = performance.now();
    const outcomes = await askAll(ns, routers, names, EACH);
    const seconds = (performance.now() - startedAt) / 1000;
    process.stdout.write(`router-wake: ${outcomes.length} requests answered after ${seconds.toFixed(0)} s\n`);

    expect(tally(outcomes)).toEqual({ 200: SANDBOXES * EACH });
    expect(outcomes.filter(({ isSame }) => !isSame)).toEqual([]);
    expect(outcomes.filter(({ timing }) => !/(^|, )hold;dur=\d/.test(timing)), "all have waited").toEqual([]);
    expect(await sum("sandbox_router_wakes_total")).toBe(SANDBOXES);
    expect(await sum("sandbox_router_held_requests")).toBe(0);
    expect(await sum("sandbox_router_upstream_errors_total")).toBe(0);
    // A router looks at the Pods, which are Ready before their Sandboxes say so.
    const sandboxes = await until(() => ns.list("sandbox"), (all) => all.every(isReady));
    const isWokenOnce = (sandbox: Loose) =>
      sandbox.metadata.generation === 2 && sandbox.spec.operatingMode === "Running" &&
      annotationOf(sandbox, "woken-at") !== undefined;
    expect(sandboxes.filter((sandbox) => !isWokenOnce(sandbox))).toEqual([]);
    expect(await ns.list("pod")).toHaveLength(SANDBOXES);
  });
});
