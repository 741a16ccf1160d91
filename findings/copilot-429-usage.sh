#!/usr/bin/env bash
# The Copilot CLI repeats a request that was answered with 429 and a short `retry-after` by itself,
# up to five times. Its ACP client sees a `usage_update` with the same numbers for each of them, which
# looks like progress, and nothing that tells of a limit or of how long it waits. Then the turn ends
# with `end_turn`, as after good work, and the failure is text in a message chunk: there is no
# JSON-RPC error. With a `retry-after` of an hour it gives up at once.
# For a run: docs/copilot.md. Activity is no progress, and `end_turn` no success.
#
# Seen on 2026-11-28 with @github/copilot 1.0.102 and a model server of its own:
#   retry-after 2: 6 requests, 6 equal usage updates, end_turn after 11 s, "Error: … 429 slow down"
#   retry-after 3600: 1 request, end_turn within 10 s, "Error: 429 …"
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . @github/copilot@1.0.102
cat >ask.mjs <<'END'
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const wait = process.argv[2];
let requests = 0;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    requests += 1;
    response.writeHead(429, { "retry-after": wait, "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "slow down", type: "rate_limit" } }));
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const { COPILOT_ALLOW_ALL, ...inherited } = process.env;
const cli = spawn(process.argv[3], ["--acp"], {
  stdio: ["pipe", "pipe", "ignore"],
  env: {
    ...inherited,
    COPILOT_HOME: `${process.cwd()}/home-${wait}`,
    COPILOT_OFFLINE: "true",
    COPILOT_AUTO_UPDATE: "false",
    COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
    COPILOT_PROVIDER_TYPE: "openai",
    COPILOT_PROVIDER_WIRE_API: "completions",
    COPILOT_PROVIDER_API_KEY: "none",
    COPILOT_MODEL: "scripted",
  },
});
let said = "", began = 0;
const kinds = [];
const answers = new Map();
createInterface({ input: cli.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  const update = message.params?.update;
  if (began && update) kinds.push(update);
  if (update?.sessionUpdate === "agent_message_chunk") said += update.content.text;
  answers.get(message.id)?.(message);
});
let next = 0;
const call = (method, params) =>
  new Promise((answered) => {
    const id = ++next;
    answers.set(id, answered);
    cli.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });
await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
const opened = await call("session/new", { cwd: process.cwd(), mcpServers: [] });
began = Date.now();
const prompt = [{ type: "text", text: "Say hello." }];
const turn = await call("session/prompt", { sessionId: opened.result.sessionId, prompt });
console.log(`retry-after ${wait}: ${requests} requests, ${Math.round((Date.now() - began) / 1000)} s`);
console.log(kinds.map((update) => update.sessionUpdate).join(", "));
console.log(JSON.stringify(turn.result ?? turn));
console.log(said.trim());
const usage = kinds.filter((update) => update.sessionUpdate === "usage_update");
const equal = new Set(usage.map((update) => JSON.stringify(update))).size === 1;
const since = kinds.slice(kinds.indexOf(usage[0]));
const told = since.filter((update) => /429|limit|retr/i.test(JSON.stringify(update)));
const good = turn.result?.stopReason === "end_turn" && said.includes("429") && equal;
const only = told.every((update) => update.sessionUpdate === "agent_message_chunk");
const as = wait === "3600" ? requests === 1 : requests === 6 && usage.length === 6;
cli.stdin.end();
cli.on("exit", () => process.exit(good && only && as ? 0 : 1));
END
cli=$(find "$PWD/node_modules/@github" -path '*copilot-*/copilot' -type f | head -1)
"$cli" --version
node ask.mjs 2 "$cli"
node ask.mjs 3600 "$cli"
