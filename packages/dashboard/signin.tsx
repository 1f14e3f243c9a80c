/** Asks the user for the token of all requests. @module */
import { useState } from "preact/hooks";

/** The sign-in form. @param onToken called with the entered token, without spaces around it */
export function SignIn({ trouble, onToken }: { trouble: string | undefined; onToken(token: string): void }) {
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
