/** Entry point of the dashboard: shows the sign-in, then lists and objects. @module */
/// <reference lib="dom" />
import "./policy.ts";
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Detail } from "./detail.tsx";
import { type ChangeRoute, List } from "./list.tsx";
import { useNamespaces } from "./namespaces.tsx";
import { addressOf, listRoute, LISTS, type Route, routeOf } from "./route.ts";
import { connect } from "./session.ts";
import { useWatches } from "./status.tsx";

/** Path of the router's proxy to the API server. */
const API = new URL("api", location.href.replace(/[?#].*$/, "")).pathname;

function App() {
  // Only in memory: other pages of this origin could read it from storage.
  const [token, setToken] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const refuse = () => {
    setTrouble("The token is invalid or has expired.");
    setToken(undefined);
  };
  if (token === undefined) return <SignIn trouble={trouble} onToken={setToken} />;
  return <Signed token={token} onRefused={refuse} onSignOut={() => setToken(undefined)} />;
}

function Signed({ token, onRefused, onSignOut }: { token: string; onRefused(): void; onSignOut(): void }) {
  const api = useMemo(() => connect(API, token, onRefused), [token]);
  const [route, change] = useRoute();
  const { list, open } = route;
  const watches = useWatches(api, route);
  const namespaces = useNamespaces(api);
  useEffect(() => {
    document.title = `${open ? `${open.name} · ` : ""}${list.title} · hookbox`;
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
        <button type="button" onClick={onSignOut}>Sign out</button>
      </header>
      <main class={open ? "split" : ""}>
        <List key={list.kind} api={api} route={route} watches={watches} namespaces={namespaces} change={change} />
        {open && (
          <Detail
            key={`${list.kind}/${open.namespace}/${open.name}`}
            session={{ api, base: API, token }}
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
    if (how !== "replace") return void (location.hash = next);
    history.replaceState(null, "", next);
    setHash(next);
  };
  return [useMemo(() => routeOf(hash), [hash]), change];
}

/** The sign-in form. @param onToken called with the entered token, without spaces around it */
function SignIn({ trouble, onToken }: { trouble: string | undefined; onToken(token: string): void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") onToken(text.trim());
  };
  return (
    <form class="signin" onSubmit={submit}>
      <h1>hookbox</h1>
      {trouble && <p role="alert">{trouble}</p>}
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          autofocus
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit">Sign in</button>
      <p>
        You see and do what the API server lets the token's user see and do. One for a ServiceAccount:{" "}
        <code>kubectl create token NAME -n NAMESPACE</code>. It is kept in this tab, until you close or reload it.
      </p>
    </form>
  );
}

render(<App />, document.body);
