/** A program for a Pod: a WebSocket server that gives back what it gets. @module */
import { WebSocketServer } from "ws";

new WebSocketServer({ port: 9001 }).on("connection", (socket) => {
  socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
});
