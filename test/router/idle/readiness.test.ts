/** `max-active-seconds` counts from what others do: no sandbox escapes it by how Ready it is, which code inside decides. @module */
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createIdler } from "../../../packages/router/idle/idler.ts";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { PODS, putPod, putSandbox, SANDBOXES } from "../stage.ts";

const key = (name: string) => `router.agents.x-k8s.io/${name}`;
const ASKED = { [key("idle-seconds")]: "60", [key("max-active-seconds")]: "600" };
const START = Date.parse("2026-11-21T12:00:00Z");
const timeAt = (minute: number) => new Date(START + minute * 60_000).toISOString();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: START });
  onTestFinished(() => void vi.useRealTimers());
});

interface Shape {
  isReady?: boolean;
  /** When that was last otherwise, in minutes. */
  since?: number;
  annotations?: object;
  phase?: string;
  mode?: string;
  /** When it was last set to Running, in minutes. */
  resumed?: number;
}

/** A Sandbox that was created at minute 0, and a router. */
function start() {
  const api = createFakeApi();
  const index = createSandboxIndex();
  const idler = createIdler({
    api,
    index,
    identity: "me",
    idle: true,
    log: () => {},
    idleCheckInterval: 1000,
    runtimePort: 1,
    onSuspended: () => {},
  });
  const put = ({ isReady = false, since = 0, annotations, phase = "Running", mode = "Running", resumed }: Shape) => {
    const status = isReady ? "True" : "False";
    const condition = (type: string, status: string, minute: number) => ({
      ...{ type, status, reason: "x", message: "" },
      lastTransitionTime: timeAt(minute),
    });
    putSandbox(api, "demo", {
      metadata: { creationTimestamp: timeAt(0), annotations: { ...ASKED, ...annotations } },
      spec: { operatingMode: mode },
      status: {
        conditions: [
          condition("Ready", status, since),
          ...(resumed === undefined ? [] : [condition("Suspended", "False", resumed)]),
        ],
      },
    });
    putPod(api, "demo", { status: { phase, conditions: [{ type: "Ready", status }] } });
    index.sandboxes.observe(readSandbox(api.get(`${SANDBOXES}/demo`))!);
    index.pods.observe(readPod(api.get(`${PODS}/demo`), true)!);
  };
  const lookAt = async (minute: number) => {
    vi.advanceTimersByTime(START + minute * 60_000 - Date.now());
    await idler.checkAll();
    const sandbox = api.get(`${SANDBOXES}/demo`);
    return [sandbox?.["spec"], sandbox?.metadata.annotations?.[key("suspended")]].map((part) => JSON.stringify(part));
  };
  return { put, lookAt };
}

const UP = ['{"operatingMode":"Running"}', undefined];
const DOWN = ['{"operatingMode":"Suspended"}', expect.stringContaining("MaxActive")];

test("a sandbox that is not Ready is suspended once nobody has asked for it for so long", async () => {
  const { put, lookAt } = start();
  put({});
  expect(await lookAt(9.9), "it is only just starting").toEqual(UP);
  expect(await lookAt(10)).toEqual(DOWN);
});

test("each time that it becomes Ready anew counts for nothing", async () => {
  const { put, lookAt } = start();
  put({ isReady: true });
  for (let minute = 0.5; minute < 10; minute += 0.5) {
    expect(await lookAt(minute)).toEqual(UP);
    put({ since: minute });
    put({ isReady: true, since: minute });
  }
  expect(await lookAt(10)).toEqual(DOWN);
});

test.for<[string, Shape]>([
  ["woken", { annotations: { [key("woken-at")]: timeAt(20) } }],
  ["given to a claim", { annotations: { "agents.x-k8s.io/assigned-at": timeAt(20) } }],
  ["set to Running by hand", { resumed: 20 }],
  ["used through another router", { annotations: { [key("active-at")]: `${timeAt(20 - 1 / 3)} other` } }],
])("it counts anew from when it was %s", async ([, shape]) => {
  const { put, lookAt } = start();
  put(shape);
  expect(await lookAt(29.9)).toEqual(UP);
  expect(await lookAt(30)).toEqual(DOWN);
});

test("it counts anew from when this router saw it set to Running, whatever its status says", async () => {
  const { put, lookAt } = start();
  put({ mode: "Suspended" });
  await lookAt(20);
  put({});
  expect(await lookAt(29.9)).toEqual(UP);
  expect(await lookAt(30)).toEqual(DOWN);
});

test.for(["Pending", "Succeeded", "Failed"])("a Pod that is %s works for nobody, and is left", async (phase) => {
  const { put, lookAt } = start();
  put({ phase });
  expect(await lookAt(100)).toEqual(UP);
});
