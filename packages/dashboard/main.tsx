/** The dashboard: who is there, and then lists and objects. @module */
/// <reference lib="dom" />
import "./policy.ts";
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Detail } from "./detail.tsx";
import { List } from "./list.tsx";
import { addressOf, LISTS, type Place, placeOf } from "./place.ts";
import { connect } from "./session.ts";
import { SignIn } from "./signin.tsx";

/** Where the router passes requests on. */
const API = new URL("api", location.href.replace(/[?#].*$/, "")).pathname;

function App() {
  // Nowhere but here: what is stored, other pages of this origin could read.
  const [token, setToken] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const refuse = () => {
    setTrouble("The API server does not know this token, or it has expired.");
    setToken(undefined);
  };
  if (token === undefined) return <SignIn trouble={trouble} onToken={setToken} />;
  return <Signed token={token} onRefused={refuse} onSignOut={() => setToken(undefined)} />;
}

function Signed({ token, onRefused, onSignOut }: { token: string; onRefused(): void; onSignOut(): void }) {
  const api = useMemo(() => connect(API, token, onRefused), [token]);
  const [place, go] = usePlace();
  const { list, open } = place;
  return (
    <>
      <header>
        <h1>hookbox</h1>
        <nav>
          {LISTS.map((one) => (
            <a
              key={one.title}
              href={addressOf({ ...place, list: one, open: undefined })}
              aria-current={one === list ? "page" : undefined}
            >
              {one.title}
            </a>
          ))}
        </nav>
        <button type="button" onClick={onSignOut}>Sign out</button>
      </header>
      <main class={open ? "split" : ""}>
        <List key={list.kind} api={api} place={place} go={go} />
        {open && (
          <Detail
            key={`${list.kind}/${open.namespace}/${open.name}`}
            session={{ api, base: API, token }}
            list={list}
            open={open}
            onClose={() => go({ ...place, open: undefined })}
          />
        )}
      </main>
    </>
  );
}

/** The place that the address names, and how to go to another one. */
function usePlace(): [Place, (place: Place) => void] {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return [useMemo(() => placeOf(hash), [hash]), (place) => void (location.hash = addressOf(place))];
}

render(<App />, document.body);
