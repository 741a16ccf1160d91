#!/usr/bin/env bash
# One flag of the Copilot CLI, `--reasoning-effort high`, with a model that its list does not know, as
# is every model of one's own provider. Over ACP it starts, answers `initialize`, and then refuses
# every `session/new`: "Model '…' does not support reasoning effort configuration". With `-p` the
# same flags work, and the request that reaches the model says `"reasoning_effort": "high"`.
# For a run: docs/configuration.md, `escalate`. What was tried by hand may open no session.
#
# Seen on 2026-11-28 with @github/copilot 1.0.102 and a model server of its own:
#   -p: exit 0, one request with the effort; --acp: `initialize` answered, `session/new` -32603
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . @github/copilot@1.0.102
cat >effort.mjs <<'END'
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const cli = process.argv[2];
const bodies = [];
const server = createServer((request, response) => {
  let text = "";
  request.on("data", (part) => (text += part)).on("end", () => {
    if (text) bodies.push(JSON.parse(text));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, finish_reason) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const body = { id: "1", object: "chat.completion.chunk", created: 1, model: "own", choices };
      response.write(`data: ${JSON.stringify(body)}\n\n`);
    };
    chunk({ role: "assistant", content: "Hello." }, null);
    chunk({}, "stop");
    response.end("data: [DONE]\n\n");
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const { COPILOT_ALLOW_ALL, ...inherited } = process.env;
const env = {
  ...inherited,
  COPILOT_HOME: `${process.cwd()}/home`,
  COPILOT_OFFLINE: "true",
  COPILOT_AUTO_UPDATE: "false",
  COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
  COPILOT_PROVIDER_TYPE: "openai",
  COPILOT_PROVIDER_WIRE_API: "completions",
  COPILOT_PROVIDER_API_KEY: "none",
};
const flags = ["--model", "own", "--reasoning-effort", "high"];

const alone = spawn(cli, ["-p", "Say hello.", ...flags], { stdio: ["ignore", "pipe", "pipe"], env });
let said = "", complained = "";
alone.stdout.on("data", (part) => (said += part));
alone.stderr.on("data", (part) => (complained += part));
const code = await new Promise((ended) => alone.on("close", ended));
const sent = bodies.map(({ model, reasoning_effort }) => ({ model, reasoning_effort }));
console.log(`-p: exit ${code}, asked ${JSON.stringify(sent)}, said ${JSON.stringify(said.split("\n")[0])}`);
const silent = code === 0 && sent.length > 0 && !/effort/i.test(said + complained);
const used = sent.every((one) => one.model === "own" && one.reasoning_effort === "high");

const served = spawn(cli, ["--acp", ...flags], { stdio: ["pipe", "pipe", "ignore"], env });
const answers = new Map();
createInterface({ input: served.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  answers.get(message.id)?.(message);
});
let next = 0;
const call = (method, params) =>
  new Promise((answered) => {
    const id = ++next;
    answers.set(id, answered);
    served.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });
const began = await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
const opened = await call("session/new", { cwd: process.cwd(), mcpServers: [] });
console.log(`--acp: initialize ${began.result ? "answered" : "refused"}`);
console.log(`--acp: session/new ${JSON.stringify(opened.error ?? opened.result)}`);
const refused = /does not support reasoning effort/.test(JSON.stringify(opened.error ?? ""));
served.stdin.end();
served.on("exit", () => process.exit(silent && used && began.result && refused ? 0 : 1));
END
cli=$(find "$PWD/node_modules/@github" -path '*copilot-*/copilot' -type f | head -1)
"$cli" --version
node effort.mjs "$cli"
