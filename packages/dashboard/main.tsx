/**
 * Entry point of the dashboard: shows the sign-in, then lists and objects, below a banner if the data is old. @module
 */
/// <reference lib="dom" />
import "./policy.ts";
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Detail } from "./detail.tsx";
import { type ChangeRoute, List } from "./list.tsx";
import { useNamespaces } from "./namespaces.tsx";
import { ProjectDetail } from "./project.tsx";
import { beforeLeaving } from "./unsaved.ts";
import { addressOf, listRoute, LISTS, type Route, routeOf } from "./route.ts";
import { connect, routerConnection } from "./session.ts";
import { Identity, type Login, SignIn, type SignInState, useSignIn } from "./signin.tsx";
import { useWatches } from "./status.tsx";
import type { Connection } from "./connection.ts";
import { useStale } from "./state.ts";

/** Path of the router's proxy to the API server. */
const API = new URL("api", location.href.replace(/[?#].*$/, "")).pathname;

function App() {
  const state = useSignIn(API);
  const { login } = state;
  if (state.isChecking) return <p class="signin" role="status">Connecting…</p>;
  return login === undefined ? <SignIn state={state} /> : <Signed key={login.user} state={state} login={login} />;
}

function Signed({ state, login }: { state: SignInState; login: Login }) {
  const { token, settings: { clusterName, previews } } = login;
  const api = useMemo(() => connect(API, token, state.refused), [login]);
  const [route, change] = useRoute();
  const { list, open } = route;
  const watches = useWatches(api, route);
  const namespaces = useNamespaces(api, route.namespace);
  const lists = LISTS.filter((one) => one.kind !== "Project" || namespaces.haveProjects || one === list);
  const close = () => change({ open: undefined });
  useEffect(() => {
    document.title = `${open ? `${open.name} · ` : ""}${list.title} · hookbox${clusterName && ` · ${clusterName}`}`;
  }, [list, open?.name]);
  return (
    <>
      <header>
        <h1>hookbox</h1>
        <nav>
          {lists.map((one) => (
            <a
              key={one.title}
              href={addressOf({ ...listRoute(one, route.namespace), filter: route.filter })}
              aria-current={one === list ? "page" : undefined}
            >
              {one.title}
            </a>
          ))}
        </nav>
        <Identity state={state} login={login} />
      </header>
      <Banner />
      <main class={open ? "split" : ""}>
        <List key={list.kind} api={api} route={route} watches={watches} namespaces={namespaces.names} change={change} />
        {open && (list.kind === "Project"
          ? <ProjectDetail key={panelOf(route)} api={api} name={open.name} onClose={close} />
          : (
            <Detail
              key={panelOf(route)}
              session={{ api, base: API, token, previews }}
              list={list}
              open={open}
              watches={watches}
              onClose={close}
            />
          ))}
      </main>
    </>
  );
}

/** Identifies the panel of a route; empty: none is open. */
function panelOf({ list, open }: Route): string {
  return open ? `${list.kind}/${open.namespace}/${open.name}` : "";
}

/** Returns the route in the URL, and a function to change it. Asks before a panel with unsaved changes is left. */
function useRoute(): [Route, ChangeRoute] {
  const [hash, setHash] = useState(location.hash);
  const shown = useRef(hash);
  const guard = (next: string, go: () => void) =>
    panelOf(routeOf(next)) === panelOf(routeOf(shown.current)) ? go() : beforeLeaving(go);
  const show = (next: string) => {
    shown.current = next;
    setHash(next);
  };
  useEffect(() => {
    const follow = () => {
      const next = location.hash;
      let isLeft = false;
      guard(next, () => {
        isLeft = true;
        if (location.hash !== next) location.hash = next;
        show(next);
      });
      // The address of the panel stays as long as the user is asked.
      if (!isLeft) history.replaceState(null, "", shown.current);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  // The URL, not the last rendering, is the source: two changes may come between two renderings.
  const change: ChangeRoute = (part, how) => {
    const next = addressOf({ ...routeOf(location.hash), ...part });
    guard(next, () => {
      if (how === "replace") history.replaceState(null, "", next);
      else location.hash = next;
      // At once, not by the event that follows: what the user types until then would be lost.
      show(next);
    });
  };
  return [useMemo(() => routeOf(hash), [hash]), change];
}

/** Shown above all lists; nothing while all data is up to date. */
function Banner({ connection = routerConnection() }: { connection?: Connection }) {
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

render(<App />, document.body);
