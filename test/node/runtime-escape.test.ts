/** Nothing gets out of a real sandbox's root: the whole corpus, against our runtime in a Pod. @module */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { makeInside, makeOutside, PATHS, RAW } from "../runtime/escapes.ts";
import { escapesOf, rawEscapesOf, type Sender, surfacesOf } from "../runtime/escapeways.ts";
import { sendTo } from "../runtime/servers.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { makeNamespace, sleeper } from "../integration/namespace.ts";
import { COMMANDS, FILES, isReady, needsRuntime, SERVING } from "./runtimepods.ts";
import { hasRealNode } from "../integration/suite.ts";

describe.runIf(hasRealNode)("the runtime in a Pod", () => {
  beforeAll(needsRuntime);

  test("no path and no symlink leads out of its root", async () => {
    // The test sees the same folder as the Pod: what lies around the root is there to be reached.
    const around = join(makeTempFolder(), "around");
    makeInside(around);
    makeOutside(around);
    const [container] = SERVING.containers;
    const spec = {
      containers: [{
        ...container,
        args: ["--root", join(around, "root")],
        volumeMounts: [{ name: "around", mountPath: around }],
      }],
      volumes: [{ name: "around", hostPath: { path: around } }],
    };
    const ns = await makeNamespace();
    await ns.apply(sleeper("confined", {}, spec));
    const { status } = await ns.until("sandbox", "confined", isReady);
    const [address] = status.podIPs;
    const rest: Sender = (method, path, sent) => sendTo(address, FILES, method, path, sent);
    const legacy: Sender = (method, path, sent) => sendTo(address, COMMANDS, method, path, sent);
    const inRoot = await rest("GET", "/v1/files/file");
    expect(inRoot.status, "what is in the root is served").toBe(200);
    const escaped: Record<string, string[]> = {};
    for (const path of PATHS) escaped[path[0]] = await escapesOf(around, surfacesOf(rest, legacy), path);
    for (const raw of RAW) escaped[raw] = await rawEscapesOf(around, rest, legacy, raw);
    expect(Object.entries(escaped).filter(([, ways]) => ways.length > 0)).toEqual([]);
  });
});
