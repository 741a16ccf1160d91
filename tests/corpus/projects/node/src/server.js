import http from "node:http";
import { Cart } from "./cart.js";

const port = Number(process.env.PORT ?? 18100);
const server = http.createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/health") return response.end("ok\n");
  if (url.pathname === "/total") {
    const cart = new Cart().add("tea", Number(url.searchParams.get("cents") ?? 0));
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ total: cart.toString() }));
  }
  response.statusCode = 404;
  response.end("not found\n");
});
server.listen(port, "127.0.0.1", () => console.log(`listening on ${port}`));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
