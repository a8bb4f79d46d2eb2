// An agent with methods of its own, written with the TypeScript SDK: `node extending.mjs PATH/TO/sdk/dist/acp.js`.
//
// The prompt "call METHOD JSON" has it call a method of the client; any other prompt is only answered.

import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(process.argv[2]).href);

const asIs = (params) => params;

async function prompt({ params, client }) {
  const { sessionId } = params;
  const say = (text, meta) =>
    client.notify("session/update", {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, _meta: meta },
    });
  const [word, method, given = "{}"] = params.prompt[0].text.split(" ");
  if (word !== "call") {
    await say("hello", { "ts/n": 1 });
  } else {
    await client.notify("_ts/calling", { method });
    try {
      const result = await client.request(method, JSON.parse(given));
      await say(JSON.stringify({ result }), { "ts/method": method });
    } catch (error) {
      await say(JSON.stringify({ code: error.code, message: error.message, data: error.data }), {});
    }
  }
  return { stopReason: "end_turn", _meta: { "ts/received": params._meta ?? null } };
}

acp
  .agent({ name: "extending" })
  .onRequest("initialize", ({ params }) => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { _meta: { ts: { echo: true } } },
    _meta: { "ts/announced": params.clientCapabilities?._meta ?? null },
  }))
  .onRequest("session/new", ({ params }) => ({
    sessionId: "ts-1",
    _meta: { "ts/opened": params._meta ?? null },
  }))
  .onRequest("session/prompt", prompt)
  .onRequest("_ts/echo", asIs, ({ params }) => ({ echo: params }))
  .onRequest("_ts/fail", asIs, () => {
    throw new acp.RequestError(7, "as you wished", { why: "a test" });
  })
  .onRequest("_ts/hang", asIs, () => new Promise(() => {}))
  .onNotification("_ts/note", asIs, ({ params, client }) => client.notify("_ts/noted", params))
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
