/** Messages of a stream of Connect, as they are on the wire. @module */

/** Makes the frame of a message. @param flags 2: it ends the stream, and the message is JSON */
export function framed(message: Uint8Array, flags = 0): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(5 + message.length);
  frame[0] = flags;
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}
