#!/usr/bin/env bash
# `--max-ai-credits 30` of the Copilot CLI, with a provider of one's own: the CLI tells the model
# how many credits remain, at the start and again later, and that number never goes down: 3 million
# tokens after it was told of 30, the model is told of 30. It is asked to be frugal for a limit that
# nobody counts and that never ends a session.
# For a run: docs/configuration.md. The runner counts credits itself, and refuses the flag with a
# provider of one's own, where nothing is known about them.
#
# Seen on 2026-11-29 with @github/copilot 1.0.102 and a model server of its own:
#   exit 0; 30 credits in three of five requests, also in the last; "Tokens ↑ 2.7m • ↓ 300.0k"
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . @github/copilot@1.0.102
cat >limits.mjs <<'END'
import { spawn } from "node:child_process";
import { createServer } from "node:http";

const told = [];
const server = createServer((request, response) => {
  let text = "";
  request.on("data", (part) => (text += part)).on("end", () => {
    const found = [...text.matchAll(/Remaining session limits: ([\d.]+) AI credits/g)];
    told.push(found.map((it) => it[1]).at(-1));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, finish_reason) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const body = { id: "1", object: "chat.completion.chunk", created: 1, model: "own", choices };
      response.write(`data: ${JSON.stringify(body)}\n\n`);
    };
    if (told.length < 4) {
      const input = JSON.stringify({ command: `echo ${told.length}`, description: "count" });
      const call = { index: 0, id: `c${told.length}`, type: "function" };
      chunk({ role: "assistant", tool_calls: [{ ...call, function: { name: "bash", arguments: input } }] }, null);
      chunk({}, "tool_calls");
    } else {
      chunk({ role: "assistant", content: "Done." }, null);
      chunk({}, "stop");
    }
    const usage = { prompt_tokens: 900000, completion_tokens: 100000, total_tokens: 1000000 };
    const last = { id: "1", object: "chat.completion.chunk", created: 1, model: "own", choices: [], usage };
    response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
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
  COPILOT_MODEL: "own",
};
const flags = ["-p", "Count to three.", "--allow-tool", "shell(echo)", "--max-ai-credits", "30"];
const cli = spawn(process.argv[2], flags, { stdio: ["ignore", "pipe", "pipe"], env });
let said = "";
cli.stdout.on("data", (part) => (said += part));
cli.stderr.on("data", (part) => (said += part));
const code = await new Promise((ended) => cli.on("close", ended));
console.log(`exit ${code}; credits told in its requests: ${told.map((it) => it ?? "none").join(", ")}`);
console.log(said.trim().split("\n").slice(-6).join("\n"));
const numbers = told.filter(Boolean);
const equal = numbers.length > 1 && numbers.every((it) => it === "30") && told.at(-1) === "30";
process.exit(code === 0 && equal ? 0 : 1);
END
cli=$(find "$PWD/node_modules/@github" -path '*copilot-*/copilot' -type f | head -1)
"$cli" --version
node limits.mjs "$cli"
