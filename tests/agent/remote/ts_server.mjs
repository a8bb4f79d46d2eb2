// The TypeScript SDK's own server with an agent for the tests behind it: node ts_server.mjs LEDGER [options]
//
// It is strict about headers. With --sticky it is behind a "load balancer" that sets a cookie and refuses every
// later request without it. --most BYTES: the largest request body. --silent: no comments on its streams. The scenes are those of sdk_server.py.

import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

// The SDK sends a comment every 15 s: each test of a silent stream would last longer than that.
const KEEPALIVE_MS = process.argv.includes("--silent") ? 1e9 : 300;
const { setInterval } = globalThis;
globalThis.setInterval = (call, ms, ...more) => setInterval(call, ms === 15_000 ? KEEPALIVE_MS : ms, ...more);

const packages = createRequire(new URL("../../../js/package.json", import.meta.url));
const sdk = "@agentclientprotocol/sdk";
const root = packages.resolve(sdk).replace(/dist\/.*$/, "");
const { AcpServer } = await import(pathToFileURL(`${root}dist/transports/server.js`).href);
const adapter = await import(pathToFileURL(`${root}dist/transports/node-adapter.js`).href);
const acp = await import(pathToFileURL(packages.resolve(sdk)).href);
const { WebSocketServer } = packages("ws");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: "string", default: "0" },
    sticky: { type: "boolean", default: false },
    silent: { type: "boolean", default: false },
    most: { type: "string", default: String(16 << 20) },
  },
});
const [ledger] = positionals;
const MOST_FRAME = 256 << 20;
const MOST_KEPT = 1000; // characters of a chunk in the ledger, which is read often
const COOKIE = "affinity=node-1";

const add = (what, fields = {}) => fs.appendFileSync(ledger, JSON.stringify({ what, ...fields }) + "\n");
const entries = (what) =>
  fs
    .readFileSync(ledger, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.what === what);

const cancels = new Map(); // session → a function that ends its wait
const chunk = (sessionUpdate, text) => ({ sessionUpdate, content: { type: "text", text } });

const scenes = {
  async words(say, context, count, pause = "0") {
    let cancelled = false;
    cancels.set(context.params.sessionId, () => (cancelled = true));
    for (let number = 0; number < +count; number++) {
      await say(`w${number} `);
      if (+pause) await new Promise((done) => setTimeout(done, +pause));
      if (cancelled) return "cancelled";
    }
  },
  async think(say, context, pause) {
    await new Promise((done) => setTimeout(done, +pause));
    await say("I thought.");
  },
  async big(say, context, size) {
    await say("x".repeat(+size));
  },
  async ask(say, context) {
    const options = [
      { optionId: "n", name: "No", kind: "reject_once" },
      { optionId: "y", name: "Yes", kind: "allow_once" },
    ];
    const toolCall = { toolCallId: "t1", title: "Delete it", kind: "delete", status: "pending" };
    const { sessionId } = context.params;
    const answer = await context.client.request("session/request_permission", { sessionId, toolCall, options });
    if (answer.outcome.outcome !== "selected") return "cancelled";
    await say(`You chose ${answer.outcome.optionId}.`);
  },
  async wait(say, context) {
    const cancelled = new Promise((done) => cancels.set(context.params.sessionId, done));
    await say("I wait.");
    await cancelled;
    return "cancelled";
  },
};

async function prompt(context) {
  const { sessionId, prompt } = context.params;
  const text = prompt[0]?.text ?? "";
  const say = async (words) => {
    add("update", { session: sessionId, update: chunk("agent_message_chunk", words.slice(0, MOST_KEPT)) });
    await context.client.notify("session/update", { sessionId, update: chunk("agent_message_chunk", words) });
  };
  const kept = text.slice(0, MOST_KEPT);
  add("prompt", { session: sessionId, text: kept });
  add("update", { session: sessionId, update: chunk("user_message_chunk", kept) });
  const [word, ...more] = text.split(" ");
  const scene = Object.hasOwn(scenes, word) ? scenes[word] : () => say(`You said: ${text}`);
  const stopReason = (await scene(say, context, ...more)) ?? "end_turn";
  add("answer", { session: sessionId, text: kept });
  return { stopReason };
}

async function load(context) {
  const { sessionId } = context.params;
  if (!entries("session").some((entry) => entry.session === sessionId))
    throw acp.RequestError.resourceNotFound(sessionId);
  add("load", { session: sessionId });
  for (const { session, update } of entries("update"))
    if (session === sessionId) await context.client.notify("session/update", { sessionId, update });
  return {};
}

const createAgent = () =>
  acp
    .agent({ name: "scenes" })
    .onRequest("initialize", () => {
      add("connection");
      return {
        protocolVersion: acp.PROTOCOL_VERSION,
        agentInfo: { name: "scenes", title: "Scenes", version: "1" },
        agentCapabilities: { loadSession: true },
      };
    })
    .onRequest("session/new", ({ params }) => {
      const sessionId = crypto.randomUUID();
      add("session", { session: sessionId, cwd: params.cwd });
      return { sessionId };
    })
    .onRequest("session/load", load)
    .onRequest("session/prompt", prompt)
    .onNotification("session/cancel", ({ params }) => {
      add("cancel", { session: params.sessionId });
      cancels.get(params.sessionId)?.();
    });

const server = new AcpServer({ createAgent });
const handle = adapter.createNodeHttpHandler(server, { maxRequestBodyBytes: +values.most });
const sockets = new WebSocketServer({ noServer: true, maxPayload: Math.min(+values.most, MOST_FRAME) });
const upgrade = adapter.createNodeWebSocketUpgradeHandler(server, sockets);
if (values.sticky) sockets.on("headers", (headers) => headers.push(`Set-Cookie: ${COOKIE}; Path=/; HttpOnly`));

const lacksCookie = (request) => {
  const first = request.method === "POST" && !request.headers["acp-connection-id"];
  const known = (request.headers.cookie ?? "").includes(COOKIE);
  add("request", { method: request.method, cookie: known, host: request.headers.host });
  return values.sticky && !first && !known;
};

const listener = http.createServer((request, response) => {
  if (lacksCookie(request)) {
    add("no cookie");
    response.statusCode = 404; // another node of the cluster: it does not know this connection
    return response.end("Unknown Acp-Connection-Id");
  }
  if (values.sticky) response.setHeader("Set-Cookie", `${COOKIE}; Path=/; HttpOnly`);
  handle(request, response);
});
listener.on("upgrade", (request, socket, head) => {
  add("request", { method: "UPGRADE", cookie: (request.headers.cookie ?? "").includes(COOKIE) });
  upgrade(request, socket, head);
});
listener.listen(+values.port, "127.0.0.1", () => console.log(JSON.stringify({ port: listener.address().port })));
