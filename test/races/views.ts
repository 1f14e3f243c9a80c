/** How somebody who watches sees what happens: in order, late, and with gaps. @module */
import type { Clock } from "../../packages/testing/store/store.ts";
import type { Watcher, Weather } from "./weather.ts";

/** The view that one watch gives of one kind. */
export interface View {
  /** Shows a change that happens now, when it is due; or loses it. */
  show(deliver: () => void): void;
  /** Shows something in its turn that cannot get lost. */
  deliver(deliver: () => void): void;
  /** Nothing is shown any more. */
  end(): void;
}

/** What a view is of, and whose. */
export interface ViewOptions {
  clock: Clock;
  weather: Weather;
  kind: string;
  of: Watcher;
  /** Called at the end of a gap in which something was lost: lists anew. */
  relist(): void;
}

/** Makes a view. */
export function createView({ clock, weather, kind, of, relist }: ViewOptions): View {
  let last = 0;
  let hasLost = false;
  let isOver = false;
  const view: View = {
    show(deliver) {
      // A watch that has lost something shows nothing more before all is listed again.
      hasLost ||= weather.isLost(kind, of);
      if (!hasLost) view.deliver(deliver);
    },
    deliver(deliver) {
      last = Math.max(last, clock.now() + weather.lagOf(kind, of));
      clock.setTimeout(() => isOver || deliver(), last - clock.now());
    },
    end: () => void (isOver = true),
  };
  for (const left of weather.gapEnds(kind, of)) {
    clock.setTimeout(() => {
      if (isOver || !hasLost) return;
      hasLost = false;
      relist();
    }, left);
  }
  return view;
}
