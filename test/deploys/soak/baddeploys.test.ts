/** A bad deploy erases no fleet. `npm run soak` tries 500 Sandboxes for longer. @module */
import { afterAll, expect, inject, test } from "vitest";
import { GUARDED } from "../../../packages/webhook/statusrules.ts";
import { LOSSES_ALLOWED_ANNOTATION } from "../../../packages/api/objects/keys.ts";
import { conditionOf } from "../../testing/objects.ts";
import { BAD_DEPLOYS, type Fault, faulty } from "../baddeploys.ts";
import { type Fleet, LOSSES_PER_MINUTE, startFleet } from "../fleet.ts";

const [SIZE, MINUTES] = inject("isSoak") ? [500, 5] : [18, 2];
const PATIENCE = { timeout: 60_000 + SIZE * MINUTES * 100 };
const YEAR_MS = 366 * 86_400_000;
const asItIs: Fault = (wish) => wish;

async function aFleet(): Promise<Fleet & AsyncDisposable> {
  const fleet = await startFleet(SIZE, faulty(asItIs));
  expect(fleet.running()).toBeGreaterThanOrEqual(SIZE - 9);
  return { ...fleet, [Symbol.asyncDispose]: () => fleet.cluster.stop() };
}

/** A fleet to which nothing has happened yet, whatever was deployed: as long as no test has failed, the same again. */
let untouched: Promise<Fleet & AsyncDisposable> | undefined;
async function withUntouched(act: (fleet: Fleet) => Promise<void>): Promise<void> {
  const fleet = untouched ?? aFleet();
  untouched = undefined;
  await act(await fleet);
  untouched = fleet;
}
afterAll(async () => (await untouched)?.[Symbol.asyncDispose]());

test.for(Object.entries(BAD_DEPLOYS))(
  "a hook that %s takes nothing away",
  PATIENCE,
  ([, fault]) =>
    withUntouched(async (fleet) => {
      const before = fleet.cluster.faults().length;
      fleet.deploy(faulty(fault()));
      await fleet.live(MINUTES);
      expect(fleet.lost()).toEqual([]);
      expect(fleet.made(), "and makes nothing").toEqual([]);
      expect(fleet.cluster.faults().length, "it is reported").toBeGreaterThan(before);
      fleet.deploy();
      await fleet.live(2);
      expect(fleet.lost(), "nor does the good one that follows").toEqual([]);
    }),
);

test(
  "a clock that is a year ahead ends Sandboxes no faster than is set, and their status says so",
  PATIENCE,
  async () => {
    await using fleet = await aFleet();
    const { cluster } = fleet;
    const guarded = () => cluster.objects("Sandbox").filter((object) => conditionOf(object, GUARDED)).length;
    fleet.deploy(faulty(asItIs, YEAR_MS));
    // The first call publishes the expiry, the second acts on it.
    for (let call = 0; call < 2; call++) await fleet.look();
    expect([fleet.lost(), guarded()], "a new process has nothing to spend").toEqual([
      [],
      cluster.objects("Service").length,
    ]);
    const SECONDS = 0.5;
    await cluster.clock.advance(SECONDS * 1000);
    await fleet.look();
    expect(fleet.lost().length).toBeGreaterThan(0);
    expect(fleet.lost().length).toBeLessThanOrEqual(SECONDS * LOSSES_PER_MINUTE / 60);
    fleet.deploy();
    await fleet.live(2);
    expect(guarded(), "it is said no longer").toBe(0);
  },
);

test("an annotation allows the deletion of a Sandbox's children, until a time", PATIENCE, async () => {
  await using fleet = await aFleet();
  const { cluster } = fleet;
  fleet.deploy(faulty(asItIs, YEAR_MS));
  const [first, second] = ["own-0", "own-1"];
  const looked = { "example.com/looked-at": "now" };
  const until = new Date(cluster.clock.now() + YEAR_MS + 3_600_000).toISOString();
  // The first call publishes the expiry, the second acts on it.
  for (let call = 0; call < 2; call++) {
    const annotations = { ...looked, [LOSSES_ALLOWED_ANNOTATION]: until, call: String(call) };
    await cluster.patch("Sandbox", first!, { metadata: { annotations } });
    await cluster.patch("Sandbox", second!, { metadata: { annotations: { ...looked, call: String(call) } } });
  }
  const [gone, kept] = [first, second].map((name) => cluster.get("Pod", name!));
  expect(gone === undefined || gone.metadata.deletionTimestamp !== undefined).toBe(true);
  expect(kept?.metadata.deletionTimestamp).toBeUndefined();
  const { conditions } = cluster.get("Sandbox", second!)?.status;
  expect(conditions.find(({ type }: { type: string }) => type === GUARDED)).toMatchObject({
    status: "True",
    reason: "TooManyLosses",
    message: expect.stringMatching(
      /^Deletion delayed by .*: Pod\/own-1 \(would be deleted\), Service\/own-1 \(would be deleted\)\. To delete now/,
    ),
  });
});
