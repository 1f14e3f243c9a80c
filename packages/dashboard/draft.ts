/** Keeps what a user types into an input while its value changes in the cluster. @module */
import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";

/**
 * Returns attributes of an input that shows `value`, or what the user is typing: without them, each rendering would
 * restore the old value.
 *
 * @param onEnter called when the user has entered another value
 */
export function useDraft(value: string | number, onEnter: (input: HTMLInputElement) => void) {
  const [typed, setTyped] = useState<string>();
  return {
    value: typed ?? value,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => setTyped(currentTarget.value),
    onBlur: () => setTyped(undefined),
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
      setTyped(undefined);
      onEnter(currentTarget);
    },
  };
}
