/** Entry point of the dashboard: shows the sign-in, then lists and objects. @module */
/// <reference lib="dom" />
import "./policy.ts";
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Banner } from "./banner.tsx";
import { Detail } from "./detail.tsx";
import { type ChangeRoute, List } from "./list.tsx";
import { useNamespaces } from "./namespaces.tsx";
import { addressOf, listRoute, LISTS, type Route, routeOf } from "./route.ts";
import { connect } from "./session.ts";
import { Identity, type Login, SignIn, type SignInState, useSignIn } from "./signin.tsx";
import { useWatches } from "./status.tsx";

/** Path of the router's proxy to the API server. */
const API = new URL("api", location.href.replace(/[?#].*$/, "")).pathname;

function App() {
  const state = useSignIn(API);
  const { login } = state;
  if (state.isChecking) return <p class="signin" role="status">Connecting…</p>;
  return login === undefined ? <SignIn state={state} /> : <Signed key={login.user} state={state} login={login} />;
}

function Signed({ state, login }: { state: SignInState; login: Login }) {
  const { token, settings: { clusterName, domain } } = login;
  const api = useMemo(() => connect(API, token, state.refused), [login]);
  const [route, change] = useRoute();
  const { list, open } = route;
  const watches = useWatches(api, route);
  const namespaces = useNamespaces(api);
  useEffect(() => {
    document.title = `${open ? `${open.name} · ` : ""}${list.title} · hookbox${clusterName && ` · ${clusterName}`}`;
  }, [list, open?.name]);
  return (
    <>
      <header>
        <h1>hookbox</h1>
        <nav>
          {LISTS.map((one) => (
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
        <List key={list.kind} api={api} route={route} watches={watches} namespaces={namespaces} change={change} />
        {open && (
          <Detail
            key={`${list.kind}/${open.namespace}/${open.name}`}
            session={{ api, base: API, token, domain }}
            list={list}
            open={open}
            watches={watches}
            onClose={() => change({ open: undefined })}
          />
        )}
      </main>
    </>
  );
}

/** Returns the route in the URL, and a function to change it. */
function useRoute(): [Route, ChangeRoute] {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  // The URL, not the last rendering, is the source: two changes may come between two renderings.
  const change: ChangeRoute = (part, how) => {
    const next = addressOf({ ...routeOf(location.hash), ...part });
    if (how === "replace") history.replaceState(null, "", next);
    else location.hash = next;
    // At once, not by the event that follows: what the user types until then would be lost.
    setHash(next);
  };
  return [useMemo(() => routeOf(hash), [hash]), change];
}

render(<App />, document.body);
