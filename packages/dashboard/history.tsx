/** Shows how many claims a pool has served in the last hour, as bars of five minutes each. @module */
import { useMemo } from "preact/hooks";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type Assignment, assignmentsOf, byPool, type ServedCounts } from "../summary/pools.ts";
import { type Collection, useClock } from "./state.ts";

const SPAN_MS = 300_000;
const SPANS = 12;

/**
 * Counts assignments in the last hour by spans of five minutes, oldest first. Pure.
 *
 * @param now end of the last span, in milliseconds since the epoch
 */
export function spansOf(assignments: readonly Assignment[], now: number): ServedCounts[] {
  const spans = Array.from({ length: SPANS }, (): ServedCounts => ({ warm: 0, cold: 0, unknown: 0 }));
  for (const { at, how } of assignments) {
    // A time in the future counts as now: clocks differ.
    const span = spans[SPANS - 1 - Math.max(0, Math.floor((now - at) / SPAN_MS))];
    if (span) span[how]++;
  }
  return spans;
}

/** The watches that show which claims pools have served. */
export interface PoolWatches {
  claims: Collection;
  sandboxes: Collection;
}

/** Draws the claims of a pool, and its hit rate. */
export function History({ pool, watches: { claims, sandboxes } }: { pool: KubeObject; watches: PoolWatches }) {
  const now = useClock().getTime();
  const spans = useMemo(() => {
    // These casts are safe: the API server has validated what it stores.
    const [objects] = byPool(
      [pool as SandboxWarmPool],
      claims.objects as SandboxClaim[],
      sandboxes.objects as Sandbox[],
    );
    return objects ? spansOf(assignmentsOf(objects), now) : [];
  }, [pool, claims, sandboxes, now]);
  const sum = (how: keyof ServedCounts) => spans.reduce((all, span) => all + span[how], 0);
  const [warm, cold, unknown] = [sum("warm"), sum("cold"), sum("unknown")];
  const most = Math.max(1, ...spans.map((span) => span.warm + span.cold + span.unknown));
  if (!claims.isListed || !sandboxes.isListed) return <p role="status">{claims.trouble ?? sandboxes.trouble}</p>;
  return (
    <section aria-label="History">
      <h3>Claims in the last hour</h3>
      <svg class="bars" viewBox="0 0 120 30" role="img" aria-label="Claims in each five minutes of the last hour">
        {spans.map((span, index) => <Bar key={index} {...span} index={index} most={most} />)}
      </svg>
      <p>
        {warm + cold > 0 && `Hit rate ${Math.floor((100 * warm) / (warm + cold))}%: `}
        <span class="warm">{warm} from the pool</span>, <span class="cold">{cold} made for the claim</span>
        {unknown > 0 && `, ${unknown} whose sandbox is gone`}
      </p>
      <p class="faint">Claims that have been deleted are not counted.</p>
    </section>
  );
}

/** One span, from the bottom: from the pool, made for the claim, not known. */
function Bar({ warm, cold, unknown, index, most }: ServedCounts & { index: number; most: number }) {
  const [low, high, rest] = [(30 * warm) / most, (30 * cold) / most, (30 * unknown) / most];
  const of = [`${warm} from the pool`, `${cold} made`, ...unknown > 0 ? [`${unknown} whose sandbox is gone`] : []];
  const minutes = (SPANS - index) * (SPAN_MS / 60_000);
  return (
    <g>
      <title>{`${minutes} to ${minutes - SPAN_MS / 60_000} minutes ago: ${of.join(", ")}`}</title>
      <rect x={index * 10} y={0} width={9} height={30} class="span" />
      <rect x={index * 10} y={30 - low} width={9} height={low} class="warm" />
      <rect x={index * 10} y={30 - low - high} width={9} height={high} class="cold" />
      <rect x={index * 10} y={30 - low - high - rest} width={9} height={rest} class="unknown" />
    </g>
  );
}
