/** The search for a Sandbox's Pod goes on as long as somebody waits for it: it may last two minutes. @module */
import { expect, test } from "vitest";
import { createPodTransport, type PodPlace } from "../../../packages/sdk/transport/direct.ts";

/** A way whose searches find nothing. */
function searching() {
  const searches: AbortSignal[] = [];
  const never = new Promise<never>(() => {});
  const find = ({ signal }: { signal?: AbortSignal | undefined }): Promise<PodPlace> => {
    if (signal) searches.push(signal);
    return never;
  };
  const transport = createPodTransport(
    { kind: "direct", find, reach: () => never, close: () => Promise.resolve() },
    "team-a",
    "demo",
  );
  const call = () => {
    const leaving = new AbortController();
    const called = transport.fetch(80, "/", { signal: leaving.signal });
    called.catch(() => {});
    return { called, leave: () => leaving.abort(new Error("left")) };
  };
  return { searches, transport, call };
}

test("the last one who gives up ends the search, and the next begins another", async () => {
  const { searches, call } = searching();
  const [first, second] = [call(), call()];
  first.leave();
  await expect(first.called).rejects.toThrow("left");
  expect(searches.map(({ aborted }) => aborted), "somebody waits").toEqual([false]);
  second.leave();
  await expect(second.called).rejects.toThrow("left");
  expect(searches.map(({ aborted }) => aborted)).toEqual([true]);
  call();
  expect(searches.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("a handle that is closed ends the search and who waits for it", async () => {
  const { searches, transport, call } = searching();
  const { called } = call();
  await transport.close();
  await expect(called).rejects.toThrow("Cannot reach sandbox team-a/demo: its handle was closed");
  expect(searches.map(({ aborted }) => aborted)).toEqual([true]);
});
