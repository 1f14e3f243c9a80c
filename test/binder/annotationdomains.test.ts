/** If the installation does not allow the domain of a claim's annotation, the binder binds no Sandbox to the claim, and reports that. @module */
import { afterEach, expect, test } from "vitest";
import { createBinding, watchFor } from "../../packages/binder/binder.ts";
import { aWorld } from "./world.ts";

type World = Awaited<ReturnType<typeof aWorld>>;
let stop: (() => Promise<unknown>) | undefined;
afterEach(() => stop?.());

/** Makes a world with a Ready member, and a binder that allows annotations of `ours.example` alone. */
async function begin(options: Parameters<typeof aWorld>[0] = {}): Promise<World> {
  const world = await aWorld(options);
  await world.members([1]);
  const ending = new AbortController();
  const [api, log] = [world.server.connect(), () => {}];
  const domains = {
    allowedLabelDomains: [],
    templateNetworkPolicy: "optional" as const,
    allowedAnnotationDomains: ["ours.example"],
  };
  const binding = createBinding(api, { ...domains, clock: world.clock, log });
  const running = [watchFor(binding, api, log, ending.signal), binding.serve(ending.signal)];
  stop = () => {
    ending.abort();
    api.endWatches();
    return Promise.all([...running, world.stop()]);
  };
  await world.clock.advance(0);
  return world;
}

const annotated = (key: string, value: string) => ({
  spec: { additionalPodMetadata: { annotations: { [key]: value } } },
});

test.for<[string, string, Parameters<typeof begin>[0]]>([
  ["a claim", "x", {}],
  ["a claim that is too large to be kept whole", "x".repeat(20_000), {}],
  ["a claim of a pool whose template is gone", "x", { template: null }],
])("%s gets no member with an annotation of another domain, and its status reports why", async ([, value, options]) => {
  const world = await begin(options);
  await world.claim("c", annotated("k8s.v1.cni.cncf.io/networks", value));
  await world.clock.advance(60_000);
  expect(world.shares()).toEqual({ c: [] });
  expect(world.ready()["c"]).toMatch(
    /^False InvalidMetadata .*annotation "k8s\.v1\.cni\.cncf\.io\/networks": domain .* is not allowed, use one of: ours\.example/,
  );
});

test.for([["small", "x"], ["large", "x".repeat(20_000)]] as const)(
  "a %s claim gets a member with an annotation of an allowed domain",
  async ([, value]) => {
    const world = await begin();
    await world.claim("c", annotated("ours.example/note", value));
    await world.clock.advance(60_000);
    expect(world.shares()).toEqual({ c: ["warm-1"] });
  },
);
