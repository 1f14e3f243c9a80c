/** Says that the page shows old data, and since when. @module */
/// <reference lib="dom" />
import { useEffect, useState } from "preact/hooks";
import type { Connection } from "./connection.ts";
import { routerConnection } from "./session.ts";
import { useStale } from "./state.ts";

/** Shown above all lists; nothing while all data is up to date. */
export function Banner({ connection = routerConnection() }: { connection?: Connection }) {
  const { lostSince, retryAt, isPlain } = useConnection(connection);
  const stale = useStale();
  if (lostSince) {
    return (
      <div class="banner">
        <p role="alert">Disconnected since {timeOf(lostSince)}; showing old data.</p>
        <span>{retryAt ? <Countdown to={retryAt} /> : "Connecting…"}</span>
        <button type="button" disabled={retryAt === undefined} onClick={connection.retry}>Try now</button>
      </div>
    );
  }
  if (stale) {
    return (
      <div class="banner">
        <p role="alert">Not up to date since {timeOf(stale.since)}; showing old data. {stale.trouble}</p>
      </div>
    );
  }
  if (!isPlain) return null;
  return (
    <p class="banner faint" role="status">
      The router's WebSocket cannot be opened, perhaps because of a proxy. The page works without it, but with several
      tabs it can stop loading: the browser allows few connections.
    </p>
  );
}

function useConnection(connection: Connection) {
  const [state, setState] = useState(connection.state);
  useEffect(() => {
    const follow = () => setState(connection.state());
    follow();
    return connection.subscribe(follow);
  }, [connection]);
  return state;
}

function Countdown({ to }: { to: Date }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <>Trying again in {Math.max(0, Math.ceil((to.getTime() - Date.now()) / 1000))} s.</>;
}

function timeOf(date: Date): string {
  return date.toLocaleTimeString("en-GB");
}
