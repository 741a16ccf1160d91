import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { Cart } from "../src/cart.js";

test("an empty cart costs nothing", () => {
  assert.equal(new Cart().total, 0);
});

test("items are added up", () => {
  assert.equal(String(new Cart().add("tea", 250, 2).add("cup", 100)), "6.00 EUR");
});

test("a count below one is refused", () => {
  assert.throws(() => new Cart().add("tea", 1, 0), RangeError);
});

test("a temporary folder", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "shop-"));
  fs.writeFileSync(path.join(folder, "a"), "a");
  fs.rmSync(folder, { recursive: true });
});

test("a server on loopback", async () => {
  const server = http.createServer((_, response) => response.end("hello"));
  await new Promise((resolve) => server.listen(0, resolve));
  const answer = await fetch(`http://localhost:${server.address().port}/`);
  assert.equal(await answer.text(), "hello");
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
